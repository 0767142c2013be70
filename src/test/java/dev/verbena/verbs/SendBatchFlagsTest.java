package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.verbena.VerbsArena;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.support.OtherThread;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The flags of requests at the peer, and what is left of a request that could not be added. */
@FencedTest
@Timeout(120)
class SendBatchFlagsTest {
    /** A fence concerns this side only. */
    @Test
    void fenceWakesNoPeerThatWaitsForSolicitedMessages() throws InterruptedException {
        try (Loopback loopback = Loopback.connected()) {
            CompletionChannel channel = loopback.context.createCompletionChannel();
            CompletionQueue receives = loopback.context.createCompletionQueue(
                    CompletionQueueOptions.of(8).channel(channel));
            QueuePair receiver = loopback.domain.createQueuePair(QueuePair.rc(loopback.right.queue, receives));
            QueuePair sender = loopback.domain.createQueuePair(QueuePair.rc(loopback.left.queue));
            sender.connect(receiver.endpoint());
            receiver.connect(sender.endpoint());
            receiver.postReceive(1, loopback.right.buffer);
            receiver.postReceive(2, loopback.right.buffer);
            receives.requestNotification(true);
            SendBatch batch = sender.sendBatch(1);
            batch.send(1, loopback.left.buffer.slice(0, 8)).fence().post();
            assertThat(loopback.left.done().id()).isEqualTo(1);
            assertThat(channel.poll()).isNull();
            batch.clear().send(2, loopback.left.buffer.slice(0, 8)).solicited().post();
            assertThat(channel.await(Loopback.DEADLINE)).isSameAs(receives);
        }
    }

    private interface Adder {
        void add(SendBatch batch, LocalMemory local, RemoteMemory remote);
    }

    /** Another thread closes the region while a request that names it is added: the request is added whole, or not at all. */
    @Test
    void failedAddLeavesTheBatchAsItWas() throws Throwable {
        List<Adder> adders = List.of(
                (batch, local, remote) -> batch.fetchAndAdd(2, local, remote, 1),
                (batch, local, remote) -> batch.compareAndSwap(2, local, remote, 1, 2),
                (batch, local, remote) -> batch.write(2, local, remote),
                (batch, local, remote) -> batch.send(2, local));
        try (Loopback loopback = Loopback.connected(VerbsArena.ofShared(), QueuePairAttributes.none())) {
            SendBatch batch = loopback.left.pair.sendBatch(4);
            RemoteMemory remote = loopback.right.buffer.remote();
            for (int round = 0; round < 150; round++) {
                for (Adder adder : adders) {
                    MemoryRegion region =
                            loopback.domain.register(loopback.arena.allocate(64, 64), AccessFlag.LOCAL_WRITE);
                    LocalMemory local = round % 2 == 0 ? region : region.slice(0, 8);
                    AtomicBoolean begun = new AtomicBoolean();
                    OtherThread<Void> closer = OtherThread.start(() -> {
                        while (!begun.get()) {
                            Thread.onSpinWait();
                        }
                        region.close();
                    });
                    Throwable thrown = catchThrowable(() -> {
                        for (; ; ) {
                            batch.clear().send(1);
                            adder.add(batch, local, remote);
                            begun.set(true);
                        }
                    });
                    assertThat(thrown).isInstanceOf(IllegalStateException.class);
                    assertThat(batch.size()).isEqualTo(1);
                    closer.join();
                }
            }
        }
    }
}
