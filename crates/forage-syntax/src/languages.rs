//! Supported languages, one file each.

use crate::language::Row;

mod ada;
mod bash;
mod c;
mod clojure;
mod cmake;
mod csharp;
mod dart;
mod dockerfile;
mod elixir;
mod erlang;
mod fortran;
mod fsharp;
mod go;
mod graphql;
mod groovy;
mod haskell;
mod java;
mod javascript;
mod julia;
mod jupyter;
mod kotlin;
mod lisp;
mod lua;
mod macros;
mod make;
mod markup;
mod matlab;
mod nix;
mod ocaml;
mod pascal;
mod perl;
mod php;
mod powershell;
mod protobuf;
mod python;
mod r;
mod ruby;
mod rust;
mod scala;
mod solidity;
mod sql;
mod starlark;
mod swift;
mod terraform;
mod verilog;
mod vhdl;
mod zig;

/// All languages with a grammar.
pub(crate) static ROWS: &[&Row] = &[
    &ada::ADA,
    &bash::BASH,
    &c::C,
    &c::CPP,
    &c::OBJECTIVE_C,
    &clojure::CLOJURE,
    &cmake::CMAKE,
    &csharp::CSHARP,
    &dart::DART,
    &dockerfile::DOCKERFILE,
    &elixir::ELIXIR,
    &erlang::ERLANG,
    &fortran::FORTRAN,
    &fsharp::FSHARP,
    &fsharp::SIGNATURE,
    &go::GO,
    &graphql::GRAPHQL,
    &groovy::GRADLE,
    &groovy::GROOVY,
    &haskell::HASKELL,
    &java::JAVA,
    &javascript::JAVASCRIPT,
    &javascript::TSX,
    &javascript::TYPESCRIPT,
    &julia::JULIA,
    &jupyter::JUPYTER,
    &kotlin::KOTLIN,
    &lisp::EMACS_LISP,
    &lua::LUA,
    &make::MAKE,
    &markup::SVELTE,
    &markup::VUE,
    &matlab::MATLAB,
    &nix::NIX,
    &ocaml::INTERFACE,
    &ocaml::OCAML,
    &pascal::PASCAL,
    &perl::PERL,
    &php::PHP,
    &powershell::POWERSHELL,
    &protobuf::PROTOBUF,
    &python::PYTHON,
    &r::R,
    &ruby::RUBY,
    &rust::RUST,
    &scala::SCALA,
    &solidity::SOLIDITY,
    &sql::SQL,
    &starlark::STARLARK,
    &swift::SWIFT,
    &terraform::TERRAFORM,
    &verilog::VERILOG,
    &vhdl::VHDL,
    &zig::ZIG,
];
