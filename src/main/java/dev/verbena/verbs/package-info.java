/**
 * Verbs: devices, protection domains, memory regions, completion queues, queue pairs, and the work they do.
 *
 * <p>Everything begins with a {@link dev.verbena.verbs.Device}. Each class and method names the C function or struct
 * that it stands for.
 */
package dev.verbena.verbs;
