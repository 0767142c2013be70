/**
 * The part of the Noise Protocol Framework, revision 34, that channels need: handshakes of two messages with X25519,
 * AES-GCM and SHA-256, all of them the JDK's. Not exported.
 */
package dev.verbena.internal.noise;
