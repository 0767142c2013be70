package dev.verbena.net;

import static dev.verbena.net.NodePair.SMALL;
import static dev.verbena.net.NodePair.end;
import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.verbena.VerbsTimeoutException;
import dev.verbena.internal.wire.Wire;
import dev.verbena.support.Await;
import dev.verbena.support.FencedTest;
import dev.verbena.verbs.RemoteMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Transfers of any size: data, limits, refusals and ends. */
@FencedTest
class TransferTest extends ConnectedTest {
    private static final byte[] NOTHING = {};
    private static final int MEBIBYTE = 1 << 20;

    /** Eight pieces of a sealed transfer, sixteen of another one. Two are under way at once. */
    private static final long SIZE = 4L << 20;

    TransferTest() {
        super(SMALL, SMALL.operations(3).maxTransferSize(64L << 20));
    }

    @Test
    void offerHasRoomForSomeBytesAbout() {
        int most = ends.client().maxMessageSize() - nodes.client.options().offerBytes(1);
        MemorySegment data = MemorySegment.ofArray(new byte[8]);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ends.client().offer(data, new byte[most + 1], DEADLINE))
                .withMessageContaining("at most " + most + " bytes on this channel, got " + (most + 1));
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> ends.client().offer(data, new byte[most], Duration.ofMillis(1)));
    }

    private Future<?> offer(MemorySegment data, byte... about) {
        return nodes.run(() -> ends.client().offer(data, about, DEADLINE));
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    private static void assertFails(Future<?> work, Class<? extends Throwable> type, String words) {
        assertThat(work)
                .failsWithin(DEADLINE)
                .withThrowableThat()
                .withCauseInstanceOf(type)
                .withMessageContaining(words);
    }

    @ParameterizedTest
    @CsvSource({
        "0, true, true",
        "1, true, true",
        "1048576, true, false",
        "1048577, false, true",
        "20000001, true, true",
        "1048575, false, false"
    })
    void dataOfAnySizeArrivesWhole(int size, boolean nativeSource, boolean nativeTarget) throws Exception {
        byte[] bytes = random(size);
        MemorySegment data = MemorySegment.ofArray(bytes);
        Future<?> offered = offer(nativeSource ? nodes.arena.allocate(size, 8).copyFrom(data) : data, (byte) 5);
        List<Long> progress = new ArrayList<>();
        MemorySegment target = nativeTarget ? nodes.arena.allocate(size, 8) : MemorySegment.ofArray(new byte[size]);
        try (Message message = ends.server().receive(DEADLINE)) {
            assertThat(message.isOffer()).isTrue();
            assertThat(message.isRequest()).isFalse();
            assertThat(message.segment().toArray(ValueLayout.JAVA_BYTE)).containsExactly(5);
            Transfer transfer = message.transfer();
            assertThat(message.isOffer()).isFalse();
            assertThat(transfer.length()).isEqualTo(size);
            assertThat(transfer.about()).containsExactly(5);
            transfer.accept(target, progress::add, DEADLINE);
            assertThatIllegalStateException().isThrownBy(() -> transfer.accept(target, DEADLINE));
            assertThatIllegalStateException().isThrownBy(() -> transfer.refuse("no"));
            transfer.close();
        }
        end(offered);
        assertThat(target.mismatch(data)).isEqualTo(-1);
        assertThat(progress).isSorted().doesNotHaveDuplicates();
        if (size > 0) {
            long first = ends.client().protection() == Protection.SEALED ? SealedOffer.PIECE : Pace.SMALLEST;
            assertThat(progress).startsWith(Math.min(size, first)).endsWith((long) size);
        }
    }

    /** Transfers, messages and reads of several threads share one channel. */
    @Test
    void transfersOfManyThreadsShareTheChannel() throws Exception {
        List<Future<?>> work = new ArrayList<>();
        for (int i = 0; i < SMALL.calls(); i++) {
            work.add(offer(MemorySegment.ofArray(random(3 * MEBIBYTE + i)), (byte) i));
        }
        for (int i = 0; i < SMALL.calls(); i++) {
            Transfer transfer;
            try (Message message = ends.server().receive(DEADLINE)) {
                transfer = message.transfer();
            }
            work.add(nodes.run(() -> {
                byte[] target = new byte[(int) transfer.length()];
                transfer.accept(MemorySegment.ofArray(target), DEADLINE);
                assertThat(target).isEqualTo(random(3 * MEBIBYTE + transfer.about()[0]));
            }));
        }
        for (Future<?> each : work) {
            end(each);
        }
    }

    @Test
    void offersCanBeRefusedInEachWay() throws Exception {
        MemorySegment data = nodes.arena.allocate(100);
        Future<?> first = offer(data);
        try (Message message = ends.server().receive(DEADLINE)) {
            message.transfer().refuse("no room");
        }
        assertFails(first, CallException.class, "no room");
        Future<?> second = offer(data);
        try (Message message = ends.server().receive(DEADLINE)) {
            Transfer unused = message.transfer();
            assertThatIllegalStateException().isThrownBy(message::transfer);
            unused.close();
        }
        assertFails(second, CallException.class, "without a reply");
        Future<?> third = offer(data);
        try (Message message = ends.server().receive(DEADLINE)) {
            assertThatIllegalStateException().isThrownBy(message::reply);
            message.refuse("not now");
        }
        assertFails(third, CallException.class, "not now");
        Future<?> fourth = offer(data);
        ends.server().receive(DEADLINE).close();
        assertFails(fourth, CallException.class, "without a reply");
        NodePair.send(ends.client(), 9);
        try (Message message = ends.server().receive(DEADLINE)) {
            assertThatIllegalStateException().isThrownBy(message::transfer).withMessageContaining("no offer");
        }
    }

    @Test
    void offerBeyondTheLimitIsRefusedByTheNode() throws Exception {
        use(SMALL.maxTransferSize(1000));
        MemorySegment data = nodes.arena.allocate(1001);
        assertThatExceptionOfType(CallException.class)
                .isThrownBy(() -> ends.client().offer(data, NOTHING, DEADLINE))
                .withMessageContaining("maxTransferSize");
        assertThat(ends.server().pollReceive()).isNull();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ends.client().offer(data, new byte[SMALL.messageSize() - 19], DEADLINE));
    }

    /** A peer that offers what it does not have: nothing is allocated, and the read ends the peer's channel only. */
    @ParameterizedTest
    @ValueSource(longs = {1L << 62, Long.MAX_VALUE, (64L << 20) + 1, 1000, -1, Long.MIN_VALUE})
    @NotOver(".*")
    void peerThatLiesAboutItsOfferLosesItsChannelOnly(long size) throws Exception {
        try (RawPeer peer = RawPeer.greeted(nodes.server.address(), 64)) {
            Channel channel = nodes.server.accept(DEADLINE);
            RemoteMemory none = new RemoteMemory(4096, 0x123456, Math.abs(size == Long.MIN_VALUE ? 0 : size));
            none.writeWideTo(peer.memory());
            peer.memory().set(Wire.LONG, Wire.LENGTH_IN_EXPORT, size);
            peer.send(Wire.OFFER, 0, 2, Wire.EXPORT_BYTES);
            if (size < 0) {
                assertThat(peer.awaitGoodbye()).isEqualTo(EndReason.PROTOCOL_ERROR.code);
            } else if (size > 64L << 20) {
                assertThat(peer.awaitReply()).isEqualTo(Wire.FAULT);
                assertThat(channel.isOpen()).isTrue();
            } else {
                try (Message message = channel.receive(DEADLINE);
                        Transfer transfer = message.transfer()) {
                    MemorySegment target = nodes.arena.allocate(size);
                    NodePair.failure(EndReason.ACCESS_DENIED, () -> transfer.accept(target, DEADLINE));
                }
            }
        }
        NodePair.send(ends.client(), 9);
        assertThat(NodePair.receive(ends.server())).isEqualTo(9);
    }

    @Test
    void offerThatIsTakenBackCanNotBeRead() throws Exception {
        MemorySegment data = nodes.arena.allocate(1000);
        assertThatExceptionOfType(VerbsTimeoutException.class)
                .isThrownBy(() -> ends.client().offer(data, NOTHING, Duration.ofMillis(30)));
        try (Message message = ends.server().receive(DEADLINE);
                Transfer transfer = message.transfer()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> transfer.accept(nodes.arena.allocate(999), DEADLINE))
                    .withMessageContaining("999");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> transfer.accept(nodes.arena.allocate(1000).asReadOnly(), DEADLINE));
            NodePair.failure(EndReason.ACCESS_DENIED, () -> transfer.accept(nodes.arena.allocate(1000), DEADLINE));
        }
    }

    /** The thing that is closed in the middle of a transfer. */
    enum Closed {
        CHANNEL_OF_THE_SENDER,
        CHANNEL_OF_THE_RECEIVER,
        NODE_OF_THE_SENDER
    }

    /** The side that closes gets an exception of its own mistake; the other side gets the reason. */
    @ParameterizedTest
    @CsvSource({
        "CHANNEL_OF_THE_SENDER, true",
        "CHANNEL_OF_THE_SENDER, false",
        "CHANNEL_OF_THE_RECEIVER, true",
        "CHANNEL_OF_THE_RECEIVER, false",
        "NODE_OF_THE_SENDER, false"
    })
    void closeInTheMiddleEndsBothSides(Closed closed, boolean ofTheProgram) throws Exception {
        MemorySegment data = ofTheProgram ? nodes.arena.allocate(SIZE) : MemorySegment.ofArray(new byte[(int) SIZE]);
        MemorySegment target = ofTheProgram ? nodes.arena.allocate(SIZE) : MemorySegment.ofArray(new byte[(int) SIZE]);
        boolean senderCloses = closed != Closed.CHANNEL_OF_THE_RECEIVER;
        NodePair.Step close = switch (closed) {
            case CHANNEL_OF_THE_SENDER -> ends.client()::close;
            case CHANNEL_OF_THE_RECEIVER -> ends.server()::close;
            case NODE_OF_THE_SENDER -> nodes.client::close;
        };
        Future<?> offered = offer(data);
        CompletableFuture<Void> ended = new CompletableFuture<>();
        AtomicLong last = new AtomicLong();
        Future<?> fetched = nodes.run(() -> {
            try (Message message = ends.server().receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                transfer.accept(
                        target,
                        done -> {
                            if (last.getAndSet(done) == 0) {
                                nodes.run(() -> {
                                    try {
                                        close.run();
                                    } finally {
                                        ended.complete(null);
                                    }
                                });
                                Await.until(
                                        "it is being closed",
                                        () -> !ends.client().isOpen()
                                                && !ends.server().isOpen());
                            }
                        },
                        DEADLINE);
            }
        });
        assertThat(NodePair.failure(senderCloses ? fetched : offered))
                .isInstanceOfSatisfying(
                        ChannelException.class,
                        told -> assertThat(told.reason())
                                .isIn(EndReason.CLOSED_BY_PEER, EndReason.LOST, EndReason.ACCESS_DENIED));
        assertThat(NodePair.failure(senderCloses ? offered : fetched))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        end(ended);
        assertThat(last.get()).isLessThan(SIZE);
    }

    @Test
    void nodeClosedByAnInterruptedThreadWaitsForTheThreadsInTransfers() throws Exception {
        MemorySegment data = nodes.arena.allocate(SIZE);
        Future<?> offered = offer(data);
        FutureTask<Boolean> closing = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            nodes.server.close();
            return Thread.interrupted();
        });
        Thread closer = Thread.ofPlatform().daemon().unstarted(closing);
        Future<?> fetched = nodes.run(() -> {
            try (Message message = ends.server().receive(DEADLINE);
                    Transfer transfer = message.transfer()) {
                transfer.accept(
                        nodes.arena.allocate(SIZE),
                        done -> {
                            if (closer.getState() == Thread.State.NEW) {
                                closer.start();
                                Await.until("it waits", () -> closing.isDone() || Await.isAsleep(closer));
                            }
                        },
                        DEADLINE);
            }
        });
        assertThat(closing).succeedsWithin(DEADLINE).isEqualTo(true);
        assertThat(fetched).failsWithin(DEADLINE);
        assertThat(offered).failsWithin(DEADLINE);
    }

    /** Each offer needs a call, whose number is free again when the offer has ended. */
    @Test
    void offersFollowEachOtherAndKeepNothing() throws Exception {
        Transfer before = null;
        for (int i = 0; i < 3 * SMALL.calls(); i++) {
            Future<?> offered = offer(MemorySegment.ofArray(new byte[] {(byte) i}));
            Transfer transfer;
            try (Message message = ends.server().receive(DEADLINE)) {
                transfer = message.transfer();
                assertThatIllegalStateException()
                        .isThrownBy(message::transfer)
                        .withMessageContaining("The offer has its reply");
            }
            assertThat(transfer.toString())
                    .startsWith("transfer of 1 bytes, channel from "
                            + NodePair.own().getAddress().getHostAddress() + ":");
            if (before != null) { // must not end the next one
                before.close();
                assertThatIllegalStateException().isThrownBy(before::confirm);
            }
            byte[] target = new byte[1];
            transfer.accept(MemorySegment.ofArray(target), DEADLINE);
            assertThat(target).containsExactly((byte) i);
            end(offered);
            before = transfer;
        }
    }

    @Test
    void readOnlyTargetsAreRefusedAndTheTransferGoesOn() throws Exception {
        for (MemorySegment target : List.of(MemorySegment.ofArray(new byte[3]), nodes.arena.allocate(3))) {
            Future<?> offered = offer(MemorySegment.ofArray(new byte[] {1, 2, 3}));
            try (Message message = ends.server().receive(DEADLINE)) {
                Transfer transfer = message.transfer();
                assertThatNullPointerException().isThrownBy(() -> transfer.accept(target, null, DEADLINE));
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> transfer.accept(target.asReadOnly(), DEADLINE))
                        .withMessageContaining("target must not be read-only");
                transfer.accept(target, DEADLINE);
            }
            end(offered);
            assertThat(target.toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2, 3);
        }
    }
}
