package dev.verbena.verbs;

import static dev.verbena.verbs.AccessFlag.LOCAL_WRITE;
import static dev.verbena.verbs.AccessFlag.REMOTE_WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.support.DeviceTest;
import dev.verbena.support.Fault;
import dev.verbena.support.Loopback;
import dev.verbena.support.SecondDevice;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A device that goes while it is in use. Kernels differ in what they tell: none may keep the program from ending. */
@DeviceTest
class DeviceRemovalTest {
    @Test
    @Fault("device-removed")
    void removedDeviceIsGoneAfterAllIsClosed() throws Exception {
        try (SecondDevice second = SecondDevice.make()) {
            Process removal;
            try (VerbsArena arena = VerbsArena.ofConfined()) {
                Context context = second.device().open(arena);
                ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue queue = context.createCompletionQueue(16);
                QueuePair pair = domain.createQueuePair(QueuePair.rc(queue));
                pair.connect(pair.endpoint());
                MemoryRegion buffer = domain.register(arena.allocate(64, 64), LOCAL_WRITE, REMOTE_WRITE);
                pair.postWrite(1, buffer.slice(0, 8), buffer.slice(8, 8).remote());
                queue.await(Loopback.DEADLINE).orThrow();

                removal = second.remove();
                assertThat(use(pair, queue, buffer)).as("no call hangs").isTrue();
            }
            assertThat(removal.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                    .as("it is not in use")
                    .isTrue();
            assertThat(removal.exitValue()).isZero();
            assertThat(Device.list()).noneMatch(device -> device.name().equals("rxe9"));
        }
    }

    /** A request on a device that is going: it is done, or it fails, or it is never heard of again. */
    private static boolean use(QueuePair pair, CompletionQueue queue, MemoryRegion buffer) throws InterruptedException {
        try {
            pair.postWrite(2, buffer.slice(0, 8), buffer.slice(8, 8).remote());
            return queue.await(Duration.ofSeconds(1)).id() == 2;
        } catch (VerbsException nothingOrRefused) {
            return true;
        }
    }
}
