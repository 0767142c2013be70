/** Programs for a terminal: the JShell session with its tutorial, and the guided tour. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.shell;
