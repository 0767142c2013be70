package dev.verbena.net;

import dev.verbena.support.ChildJvm;
import dev.verbena.support.Slow;
import dev.verbena.support.VethWire;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Runs the tests of {@link ForgedPackets}. */
@Slow
@EnabledIfEnvironmentVariable(
        named = "VERBENA_GUEST",
        matches = "1",
        disabledReason = "it rewires the network, which only a guest of scripts/soft-roce may have done to it")
class ForgedPacketsTest {
    /** In a process of its own, because librdmacm keeps devices open, and an open one can't be removed. */
    @Test
    void forgedPacketsDoWhatTheChapterOnSecuritySays() throws Exception {
        VethWire.layCut();
        try {
            ChildJvm.with("--enable-native-access=ALL-UNNAMED")
                    .runAlone(
                            "-cp",
                            ChildJvm.classPath(),
                            "org.junit.platform.console.ConsoleLauncher",
                            "execute",
                            "--disable-banner",
                            "--disable-ansi-colors",
                            "--details=tree",
                            "--select-class=" + ForgedPackets.class.getName())
                    .successfulOutput();
        } finally {
            VethWire.remove();
        }
    }
}
