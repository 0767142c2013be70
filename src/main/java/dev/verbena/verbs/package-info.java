/**
 * Verbs: devices, protection domains, memory regions, completion queues, queue pairs and work requests.
 *
 * <p>A program begins with a {@link dev.verbena.verbs.Device}. The Javadoc of each class and method names its C function or
 * struct.
 */
package dev.verbena.verbs;
