package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.OtherThread;
import dev.verbena.support.TestDevice;
import dev.verbena.verbs.access.VerbsAccess;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Queues, channels and events that several threads use: no call keeps a lock. */
@FencedTest
class SharedEventsTest {
    private final VerbsArena arena = VerbsArena.ofShared();
    private final Context context = TestDevice.get().open(arena);

    @AfterEach
    void close() {
        arena.close();
    }

    @Test
    void channelServesOtherThreadsAfterAPoll() throws Throwable {
        CompletionChannel channel = context.createCompletionChannel();
        assertThat(channel.poll()).isNull();
        assertThat(OtherThread.call(channel::poll)).isNull();
    }

    @Test
    void channelServesOtherThreadsAfterItsQueueCloses() throws Throwable {
        CompletionChannel channel = context.createCompletionChannel();
        context.createCompletionQueue(CompletionQueueOptions.of(4).channel(channel))
                .close();
        assertThat(OtherThread.call(channel::poll)).isNull();
    }

    @Test
    void eventsServeOtherThreadsAfterARefusedClose() throws Throwable {
        AsyncEvents events = context.events();
        Fenced.fail("ibv_close_device", 1, Errno.EBUSY);
        assertThatThrownBy(context::close).isInstanceOf(VerbsException.class);
        assertThat(OtherThread.call(events::poll)).isNull();
    }

    /** Events of a port go to all contexts of the struct, which read them from one source. */
    @Test
    void contextsShareTheirEventsAfterARefusedClose() {
        Fenced.fail("ibv_close_device", 1, Errno.EBUSY);
        assertThatThrownBy(context::close).isInstanceOf(VerbsException.class);
        Context same = VerbsAccess.get().adoptContext(VerbsAccess.get().address(context), arena, () -> {});
        Fenced.raise(context, AsyncEvent.Type.PORT_ACTIVE.code());
        assertThat(same.events().poll()).isInstanceOf(AsyncEvent.OfPort.class);
        assertThat(context.events().poll()).isInstanceOf(AsyncEvent.OfPort.class);
    }

    @Test
    void closedQueueMakesNoCursor() {
        CompletionQueue plain = context.createCompletionQueue(4);
        CompletionQueue extended =
                context.createCompletionQueue(CompletionQueueOptions.of(4).fields(CompletionField.standard()));
        plain.close();
        extended.close();
        assertThatIllegalStateException().isThrownBy(() -> plain.completions(1)).withMessageContaining("closed");
        assertThatIllegalStateException()
                .isThrownBy(() -> extended.extendedCompletions(1))
                .withMessageContaining("closed");
    }

    @Test
    void cursorTakesAtLeastOneCompletion() {
        CompletionQueue plain = context.createCompletionQueue(4);
        CompletionQueue extended =
                context.createCompletionQueue(CompletionQueueOptions.of(4).fields(CompletionField.standard()));
        assertThatIllegalArgumentException().isThrownBy(() -> plain.completions(0));
        assertThatIllegalArgumentException().isThrownBy(() -> extended.extendedCompletions(0));
        assertThat(plain.completions(1).poll()).isZero();
        assertThat(extended.extendedCompletions(1).poll()).isZero();
    }
}
