package dev.verbena.walk;

/**
 * One step of a walk. The operands choose among what exists when the step runs, so that every part of a walk is a walk: a
 * step that finds nothing to work with does nothing.
 */
record Step(Action action, int actor, int a, int b, int c, int d) {}
