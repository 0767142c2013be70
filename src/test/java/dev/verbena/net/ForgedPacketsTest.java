package dev.verbena.net;

import dev.verbena.support.Slow;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Runs the tests of {@link ForgedPackets}. */
@Slow
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = "1",
        disabledReason = "it rewires the network, which only a guest of scripts/soft-roce may have done to it")
class ForgedPacketsTest {
    @Test
    void forgedPacketsDoWhatTheChapterOnSecuritySays() throws Exception {
        CutWire.runTests(ForgedPackets.class);
    }
}
