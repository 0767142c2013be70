/** The tool that shows the nodes of a running program. */
@org.jspecify.annotations.NullMarked
package dev.verbena.tools.node;
