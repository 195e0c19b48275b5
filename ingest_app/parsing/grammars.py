"""What tree-sitter's grammars call the definitions of each language, and where to look for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """One installed grammar. The values of `holders` and `leaves` are the words that headings start with."""

    module: str
    entry: str = "language"
    #: Definitions that may hold definitions.
    holders: Mapping[str, str] = field(default_factory=dict)
    #: Definitions that are looked at from the outside only.
    leaves: Mapping[str, str] = field(default_factory=dict)
    #: Nodes that belong to the definition in them: decorators, exports, templates.
    wrappers: frozenset[str] = frozenset()
    #: Nodes that are looked through.
    blocks: frozenset[str] = frozenset()
    #: Nodes above a definition that belong to it.
    leads: frozenset[str] = frozenset({"comment"})


def _types(names: str) -> frozenset[str]:
    return frozenset(names.split())


_C_BLOCKS = _types("preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification declaration_list")
_C_LEAVES = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "type_definition": "typedef",
}
_SCRIPT_HOLDERS = {"class_declaration": "class"}
_SCRIPT_LEAVES = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "method_definition": "method",
    "function_expression": "function",
    "arrow_function": "function",
    # These only where a function or class is assigned; see `source_code`.
    "assignment_expression": "",
    "field_definition": "",
    "public_field_definition": "",
    "variable_declarator": "",
}
_SCRIPT_WRAPPERS = _types("export_statement lexical_declaration variable_declaration expression_statement")


def _typescript(entry: str) -> Grammar:
    return Grammar(
        module="tree_sitter_typescript",
        entry=entry,
        holders={
            **_SCRIPT_HOLDERS,
            "abstract_class_declaration": "class",
            "internal_module": "namespace",
            "module": "module",
        },
        leaves={
            **_SCRIPT_LEAVES,
            "interface_declaration": "interface",
            "enum_declaration": "enum",
            "type_alias_declaration": "type",
        },
        wrappers=_SCRIPT_WRAPPERS | {"ambient_declaration"},
        blocks=_types("class_body statement_block"),
        leads=_types("comment decorator"),
    )


#: Language to grammar. Loading the grammar is up to who needs it.
GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        "bash": Grammar(module="tree_sitter_bash", leaves={"function_definition": "function"}),
        "c": Grammar(module="tree_sitter_c", leaves=_C_LEAVES, blocks=_C_BLOCKS),
        "c_sharp": Grammar(
            module="tree_sitter_c_sharp",
            holders={
                "namespace_declaration": "namespace",
                "class_declaration": "class",
                "interface_declaration": "interface",
                "struct_declaration": "struct",
                "record_declaration": "record",
            },
            leaves={
                "enum_declaration": "enum",
                "method_declaration": "method",
                "constructor_declaration": "constructor",
                "destructor_declaration": "destructor",
                "operator_declaration": "operator",
                "property_declaration": "property",
                "indexer_declaration": "indexer",
                "local_function_statement": "function",
            },
            wrappers=_types("global_statement"),
            blocks=_types("declaration_list preproc_if preproc_else preproc_elif"),
        ),
        "cpp": Grammar(
            module="tree_sitter_cpp",
            holders={
                "class_specifier": "class",
                "struct_specifier": "struct",
                "union_specifier": "union",
                "namespace_definition": "namespace",
            },
            leaves={
                "function_definition": "function",
                "enum_specifier": "enum",
                "type_definition": "typedef",
                "concept_definition": "concept",
            },
            wrappers=_types("template_declaration"),
            blocks=_C_BLOCKS | {"field_declaration_list"},
        ),
        "go": Grammar(
            module="tree_sitter_go",
            leaves={
                "function_declaration": "func",
                "method_declaration": "func",
                "type_spec": "type",
                "type_alias": "type",
            },
            wrappers=_types("type_declaration"),
        ),
        "java": Grammar(
            module="tree_sitter_java",
            holders={
                "class_declaration": "class",
                "interface_declaration": "interface",
                "enum_declaration": "enum",
                "record_declaration": "record",
                "annotation_type_declaration": "@interface",
            },
            leaves={
                "method_declaration": "method",
                "constructor_declaration": "constructor",
                "compact_constructor_declaration": "constructor",
            },
            blocks=_types("class_body interface_body enum_body enum_body_declarations annotation_type_body"),
            leads=_types("line_comment block_comment"),
        ),
        "javascript": Grammar(
            module="tree_sitter_javascript",
            holders=_SCRIPT_HOLDERS,
            leaves=_SCRIPT_LEAVES,
            wrappers=_SCRIPT_WRAPPERS,
            blocks=_types("class_body"),
            leads=_types("comment decorator"),
        ),
        "php": Grammar(
            module="tree_sitter_php",
            entry="language_php",
            holders={
                "namespace_definition": "namespace",
                "class_declaration": "class",
                "interface_declaration": "interface",
                "trait_declaration": "trait",
                "enum_declaration": "enum",
            },
            leaves={"function_definition": "function", "method_declaration": "function"},
            blocks=_types("declaration_list enum_declaration_list compound_statement if_statement"),
        ),
        "python": Grammar(
            module="tree_sitter_python",
            holders={"class_definition": "class"},
            leaves={"function_definition": "def"},
            wrappers=_types("decorated_definition"),
            blocks=_types("block if_statement else_clause elif_clause try_statement except_clause"),
        ),
        "ruby": Grammar(
            module="tree_sitter_ruby",
            holders={"class": "class", "module": "module", "singleton_class": "class <<"},
            leaves={"method": "def", "singleton_method": "def"},
            blocks=_types("body_statement"),
        ),
        "rust": Grammar(
            module="tree_sitter_rust",
            holders={"impl_item": "impl", "trait_item": "trait", "mod_item": "mod"},
            leaves={
                "function_item": "fn",
                "struct_item": "struct",
                "enum_item": "enum",
                "union_item": "union",
                "macro_definition": "macro",
            },
            blocks=_types("declaration_list foreign_mod_item"),
            leads=_types("line_comment block_comment attribute_item"),
        ),
        "scala": Grammar(
            module="tree_sitter_scala",
            holders={
                "class_definition": "class",
                "object_definition": "object",
                "trait_definition": "trait",
                "enum_definition": "enum",
                "package_object": "package object",
                "extension_definition": "extension",
            },
            leaves={"function_definition": "def", "given_definition": "given"},
            blocks=_types("template_body enum_body package_clause"),
            leads=_types("comment block_comment"),
        ),
        "tsx": _typescript("language_tsx"),
        "typescript": _typescript("language_typescript"),
    }
)
