package dev.verbena.tools.shell;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.TestDevice;
import dev.verbena.tools.device.LoopbackPair;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.WorkStatus;
import org.junit.jupiter.api.Test;

/** A pair of the shell works again after an error. */
@FencedTest
class LoopbackPairTest {
    @Test
    void pairThatHasFailedIsConnectedAgain() throws InterruptedException {
        try (VerbsArena arena = VerbsArena.ofShared()) {
            LoopbackPair pair = LoopbackPair.connect(TestDevice.get().open(arena));
            LoopbackPair.End left = pair.left();
            RemoteMemory remote = pair.right().buffer().remote();
            left.pair().postRead(1, left.buffer(), new RemoteMemory(remote.address(), ~remote.key(), remote.length()));
            assertThat(left.queue().await(Loopback.DEADLINE).status()).isNotEqualTo(WorkStatus.SUCCESS);
            left.pair().postRead(2, left.buffer(), remote); // is flushed, and nobody takes its completion

            assertThat(Shell.again(pair)).isSameAs(pair);
            pair.right().buffer().segment().setString(0, "again");
            left.pair().postRead(3, left.buffer(), remote);
            assertThat(left.queue().await(Loopback.DEADLINE).orThrow().id()).isEqualTo(3);
            assertThat(left.buffer().segment().getString(0)).isEqualTo("again");
        }
    }
}
