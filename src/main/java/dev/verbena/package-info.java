/**
 * The {@linkplain dev.verbena.VerbsArena arena} that owns memory and verbs objects, and the exceptions of all packages.
 */
package dev.verbena;
