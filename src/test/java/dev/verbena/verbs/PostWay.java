package dev.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.ArenaKind;
import dev.verbena.support.Loopback;
import java.util.EnumSet;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A way from a program to the driver: plain and critical calls, the function of a queue pair and those of an extended
 * one, one thread and many.
 *
 * @param calls the value of the system property that chooses critical or plain calls
 * @param extended whether the functions of an extended queue pair post
 * @param apart whether sends and receives complete in different queues: then the log of requests may be short
 */
record PostWay(String calls, ArenaKind arena, boolean extended, boolean apart) {
    static Stream<PostWay> ways() {
        return Stream.of("none", "post")
                .flatMap(calls -> Stream.of(ArenaKind.values())
                        .flatMap(kind -> Stream.of(false, true)
                                .flatMap(extended -> Stream.of(false, true)
                                        .filter(apart -> apart || calls.equals("post"))
                                        .map(apart -> new PostWay(calls, kind, extended, apart)))));
    }

    Loopback connected() {
        return connected(options -> options);
    }

    Loopback connected(UnaryOperator<QueuePairOptions> more) {
        return make(() -> Loopback.connected(
                arena.make(),
                QueuePairAttributes.none(),
                options -> more.apply(options(options).inlineSize(64).sendSge(3).receiveSge(3))));
    }

    QueuePairOptions options(QueuePairOptions options) {
        QueuePairOptions queues = options;
        CompletionQueue sends = QueuePairOptions.SEND_QUEUE.of(options);
        if (apart && sends != null && sends == QueuePairOptions.RECEIVE_QUEUE.of(options)) {
            queues = QueuePair.rc(sends, sends.context().createCompletionQueue(256));
        }
        return extended ? queues.operations(EnumSet.allOf(QueuePairOptions.OfferedOperation.class)) : queues;
    }

    /** Makes objects of a context whose driver is called in this way. */
    Loopback make(Supplier<Loopback> maker) {
        String property = "dev.verbena.critical";
        System.setProperty(property, calls);
        try {
            return maker.get();
        } finally {
            System.clearProperty(property);
        }
    }

    static LocalMemory local(Loopback loopback, int i) {
        return loopback.left.buffer.slice(64L * i, 9 + i);
    }

    static RemoteMemory remote(Loopback loopback, int i) {
        return loopback.right.buffer.remote().slice(4096 + 128L * i, 64 + i);
    }

    static void receives(Loopback loopback, int count) {
        for (int i = 0; i < count; i++) {
            loopback.right.pair.postReceive(1000 + i, loopback.right.buffer.slice(64L * i, 64));
        }
    }

    static void done(Loopback loopback, long... ids) throws InterruptedException {
        for (long id : ids) {
            assertThat(loopback.left.done().id()).isEqualTo(id);
        }
        assertThat(loopback.left.queue.poll()).isNull();
    }
}
