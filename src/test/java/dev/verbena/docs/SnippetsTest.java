package dev.verbena.docs;

import dev.verbena.support.FencedTest;

/** Runs the examples of the Javadoc on the provider for tests. */
@FencedTest
class SnippetsTest extends SnippetRuns {}
