-- Everything this transaction reads is as it was when its first statement ran.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
