/**
 * What every floor shares: the {@linkplain dev.verbena.VerbsArena arena} that owns memory and verbs objects, and the
 * exceptions.
 */
package dev.verbena;
