"""How long a cross-encoder will take: tokens are guessed before a text is read, and seconds learned from what was.

A batch takes `fixed + per_token * tokens` seconds of one thread, where every text is padded to the longest. What was
measured is compared with what was expected, and each of the two parts is moved by its share in what was expected. Of a
batch of one word nearly all is the fixed part, so such batches, however many, say next to nothing of long texts; and
long ones next to nothing of the fixed part.
"""

from __future__ import annotations

#: Tokens of a character, and of each of its bytes in UTF-8 beyond the first: BERT's tokenizer makes a token of five
#: characters of English, of three of German, of hardly more than one of Russian, and of one of Chinese or Japanese.
_OF_CHARACTER, _OF_MORE_BYTES = 0.25, 0.4
#: Special ones that a pair has.
_OF_PAIR = 3
#: A batch's fixed part in tokens: what is thought before anything was measured, and what it is at least.
_FIRST_FIXED, _LEAST_FIXED = 50, 10
#: How much one measurement counts against those of before, and how far it may be from them.
_FRESHNESS, _FARTHEST = 0.3, 3.0
#: Where it seems too slow for even one text, it seems a little faster the next time: nothing else would be learned.
_HOPE = 0.9


def tokens_of(text: str, most: int) -> float:
    """Roughly the tokens of a text, at most so many."""
    read = text[: int(most / _OF_CHARACTER)]  # more cannot change it
    characters = len(read)
    more = 0 if read.isascii() else len(read.encode("utf-8", "surrogatepass")) - characters
    return min(float(most), _OF_CHARACTER * characters + _OF_MORE_BYTES * more)


def tokens_of_pair(query: float, text: str, most: int) -> float:
    """Roughly those of a query, whose own are given, and a text, as the model reads them together."""
    return min(float(most), _OF_PAIR + query + tokens_of(text, most))


class Pace:
    """Seconds of one thread. Two threads that learn at once may lose one measurement of two, which does no harm."""

    def __init__(self) -> None:
        self._learned = 0
        #: The fixed part and that of a token: one tuple, so that nobody reads a half of two pairs.
        self._parts = (0.0, 0.0)

    @property
    def fixed(self) -> float:
        return self._parts[0]

    @property
    def per_token(self) -> float:
        return self._parts[1]

    def seconds(self, tokens: float) -> float:
        """Of a batch; 0 where nothing was learned."""
        fixed, per_token = self._parts
        return fixed + per_token * tokens

    def learn(self, tokens: float, seconds: float) -> None:
        """Take in what a batch took. The first is believed, the next ones count as a mean of all, later ones more."""
        seconds = max(seconds, 1e-9)
        fixed, per_token = self._parts
        self._learned += 1
        if self._learned == 1 or not per_token:
            per_token = seconds / (tokens + _FIRST_FIXED)
            self._parts = (_FIRST_FIXED * per_token, per_token)
            return
        expected = fixed + per_token * tokens
        ratio = min(max(seconds / expected, 1 / _FARTHEST), _FARTHEST)
        weight = max(_FRESHNESS, 1 / self._learned)
        per_token *= ratio ** (weight * per_token * tokens / expected)
        fixed *= ratio ** (weight * fixed / expected)
        self._parts = (max(fixed, _LEAST_FIXED * per_token), per_token)

    def hope(self) -> None:
        fixed, per_token = self._parts
        self._parts = (_HOPE * fixed, _HOPE * per_token)
