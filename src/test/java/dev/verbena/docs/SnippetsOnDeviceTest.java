package dev.verbena.docs;

import dev.verbena.support.Slow;

/**
 * Runs the examples of the Javadoc on a device. {@link SnippetsTest} runs them each day; that a device does what they ask for
 * is tested there by the tests of {@code dev.verbena.verbs} and {@code dev.verbena.cm}.
 */
@Slow
class SnippetsOnDeviceTest extends SnippetRuns {}
