//! Declarative tests of correct and broken objects, each with the verdict that Raddle must reach. The tests are in `tests/`.
