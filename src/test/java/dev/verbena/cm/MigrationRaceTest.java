package dev.verbena.cm;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Named.named;

import dev.verbena.ResourceBusyException;
import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.internal.Errno;
import dev.verbena.support.Await;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.QueuePairState;
import dev.verbena.verbs.SharedReceiveQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ids that change their event channel while other threads use the id, the channels or the arenas. */
@FencedTest
class MigrationRaceTest {
    private static final int ROUNDS = 200;

    @AutoClose
    private final FencedIds ids = new FencedIds();

    private final EventChannel other = EventChannel.create(ids.arena);

    /** The channel stays open for long after an id that it could not take was closed. */
    @Test
    void channelKeepsNothingOfAnIdThatCouldNotMove() throws Exception {
        WeakReference<ConnectionId> id = idThatCouldNotMove();
        ids.channel.createId(PortSpace.TCP); // the reader's last id is another one
        awaitCollected(id);
        assertThat(other.isUnused()).isTrue();
    }

    private static void awaitCollected(WeakReference<?> object) {
        Await.until("the object is collected", () -> {
            System.gc();
            return object.refersTo(null);
        });
    }

    @Test
    void channelKeepsNothingOfAnAddressThatItMadeAnEndpointOf() throws Exception {
        awaitCollected(addressOfAnEndpoint());
    }

    private WeakReference<AddressInfo> addressOfAnEndpoint() throws InterruptedException {
        AddressInfo info = AddressInfo.find("10.9.9.1", "7471", AddressInfo.hints(), DEADLINE)
                .getFirst();
        ids.channel.createEndpoint(info, DEADLINE).close();
        return new WeakReference<>(info);
    }

    @Test
    void channelKeepsNothingOfAnIdThatMoved() throws Exception {
        WeakReference<ConnectionId> id = idThatMoved();
        other.createId(PortSpace.TCP); // the reader's last id is another one
        awaitCollected(id);
        assertThat(ids.channel.isUnused()).isTrue();
    }

    private WeakReference<ConnectionId> idThatMoved() {
        try (ConnectionId id = ids.channel.createId(PortSpace.TCP)) {
            id.migrate(other);
            return new WeakReference<>(id);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void listenerKeepsItsChannelWhileItHasRequestsThatNobodyClaimed(boolean taken) throws Exception {
        ConnectionId listener = ids.listener(4);
        ConnectionId client = ids.client(ids.channel, listener);
        ConnectionId later = ids.client(ids.channel, listener);
        client.beginConnect(ConnectionParameters.defaults());
        ConnectRequest request = taken ? listener.awaitRequest(DEADLINE) : null;
        assertThatThrownBy(() -> listener.migrate(other))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("requests to connect");
        (request == null ? listener.awaitRequest(DEADLINE) : request).reject(PrivateData.NONE);
        listener.migrate(other);
        later.beginConnect(ConnectionParameters.defaults());
        assertThat(listener.awaitRequest(DEADLINE).claim().channel()).isSameAs(other);
    }

    /** Returns a client whose request was rejected, which no thread has been told. */
    private ConnectionId rejected() throws InterruptedException {
        ConnectionId listener = ids.listener(4);
        ConnectionId client = ids.client(ids.channel, listener);
        client.beginConnect(ConnectionParameters.defaults());
        listener.awaitRequest(DEADLINE).reject(PrivateData.NONE);
        return client;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void threadThatWaitsAtTheNewChannelGetsTheEventsThatMove(boolean taken) throws Exception {
        ConnectionId client = rejected();
        if (taken) {
            assertThat(client.isDisconnected()).isFalse(); // this takes what the channel has
        }
        Future<CmEvent> waiting = ids.asleep(() -> other.awaitEvent(DEADLINE));
        client.migrate(other);
        assertThat(FencedIds.end(waiting)).satisfies(event -> {
            assertThat(event.id()).isSameAs(client);
            assertThat(event.type()).isEqualTo(CmEvent.Type.REJECTED);
        });
    }

    @Test
    void threadThatWaitsForAnIdWaitsAtItsNewChannel() throws Exception {
        ConnectionId listener = ids.listener(4);
        ConnectionId client = ids.client(ids.channel, listener);
        client.beginConnect(ConnectionParameters.defaults());
        Future<CmEvent> waiting = ids.asleep(() -> client.awaitEvent(DEADLINE));
        client.migrate(other);
        listener.awaitRequest(DEADLINE).reject(PrivateData.NONE);
        assertThat(FencedIds.end(waiting).type()).isEqualTo(CmEvent.Type.REJECTED);
    }

    private WeakReference<ConnectionId> idThatCouldNotMove() {
        try (ConnectionId id = ids.channel.createId(PortSpace.TCP)) {
            Fenced.fail("rdma_migrate_id", 1, Errno.EINVAL);
            assertThatThrownBy(() -> id.migrate(other)).isInstanceOf(VerbsException.class);
            assertThat(id.channel()).isSameAs(ids.channel);
            return new WeakReference<>(id);
        }
    }

    interface Call {
        /** Returns the call of C, once the objects are made that the call needs. */
        Runnable prepare(ConnectionId id) throws InterruptedException;
    }

    static Stream<Named<Call>> calls() {
        return Stream.of(
                named("set an option", id -> () -> id.typeOfService(8)),
                named("read attributes", id -> () -> id.attributesFor(QueuePairState.INIT)),
                named(
                        "create a shared receive queue",
                        id -> () -> id.createSharedReceiveQueue(
                                id.protectionDomain(),
                                SharedReceiveQueue.basic().depth(4))),
                named("leave a group", id -> id.join(FencedIds.GROUP, DEADLINE)::close));
    }

    @ParameterizedTest
    @MethodSource("calls")
    void migrateExcludesOtherCallsOfTheId(Call call) throws Exception {
        ConnectionId id = ids.datagrams();
        Runnable work = call.prepare(id);
        Fenced.stop("moved");
        Future<?> moving = ids.start(() -> id.migrate(other));
        Fenced.awaitStopped("moved", 1);
        CompletableFuture<Void> called = new CompletableFuture<>();
        Thread caller = Thread.ofPlatform().daemon().start(() -> {
            try {
                work.run();
                called.complete(null);
            } catch (Throwable t) {
                called.completeExceptionally(t);
            }
        });
        Await.until(
                "a call that waits or has ended",
                () -> caller.getState() == Thread.State.TIMED_WAITING || called.isDone());
        Fenced.goOn("moved");
        FencedIds.end(moving);
        FencedIds.end(called);
    }

    @Test
    void migrateLosesNoCallOfAnotherThread() throws Exception {
        ConnectionId id = ids.datagrams();
        AtomicInteger failed = new AtomicInteger();
        Future<?> calling = ids.start(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                try {
                    id.typeOfService(i & 255);
                } catch (VerbsException e) {
                    failed.incrementAndGet();
                }
            }
        });
        for (int i = 0; i < ROUNDS; i++) {
            id.migrate(i % 2 == 0 ? other : ids.channel);
        }
        FencedIds.end(calling);
        assertThat(failed).hasValue(0);
    }

    @Test
    void arenaCloseDuringMigrateClosesAllOrNothing() throws Exception {
        ConnectionId id = ids.datagrams(); // first: not every driver has them
        VerbsArena second = VerbsArena.ofShared();
        EventChannel target = EventChannel.create(second);
        EventChannel younger = EventChannel.create(second);
        Fenced.stop("rdma_migrate_id");
        Future<?> moving = ids.start(() -> id.migrate(target));
        Fenced.awaitStopped("rdma_migrate_id", 1);
        CompletableFuture<Throwable> refusal = new CompletableFuture<>();
        Thread closer = Thread.ofPlatform().daemon().start(() -> {
            try {
                second.close();
                refusal.complete(null);
            } catch (Throwable t) {
                refusal.complete(t);
            }
        });
        Await.until(
                "an arena that waits for the move",
                () -> closer.getState() == Thread.State.TIMED_WAITING || refusal.isDone());
        Fenced.goOn("rdma_migrate_id");
        FencedIds.end(moving);
        assertThat(FencedIds.end(refusal)).isInstanceOf(ResourceBusyException.class);
        assertThat(younger.isOpen()).isTrue();
        assertThat(id.channel()).isSameAs(target);
        assertThatThrownBy(target::close).isInstanceOf(ResourceBusyException.class);
        id.queuePair().orElseThrow().close();
        id.close();
        second.close();
    }
}
