package dev.verbena.net;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.VerbsArena;
import dev.verbena.support.AllocationProbe;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.FencedTest;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.LocalMemory;
import dev.verbena.verbs.RemoteMemory;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Programs that poll, and handlers, allocate nothing for messages, calls and writes, once the code is compiled. */
@FencedTest
class ChannelAllocationTest {
    @Test
    void pollingAndHandlersAllocateNothing() {
        Set<String> clean = AllocationProbe.cleanRows(
                4,
                () -> ChildJvm.with(
                        "--enable-native-access=ALL-UNNAMED",
                        "-Ddev.verbena.libibverbs=" + System.getProperty("dev.verbena.libibverbs")),
                Probe.class);
        assertThat(clean).containsExactlyInAnyOrder("round trips", "calls", "writes of a number", "notices");
    }

    /** Prints the numbers of bytes that messages there and back, calls and writes allocate in a thread that polls two nodes. */
    static final class Probe {
        public static void main(String[] arguments) throws Exception {
            System.setProperty("dev.verbena.librdmacm", System.getProperty("dev.verbena.libibverbs"));
            InetSocketAddress own = new InetSocketAddress("10.9.9.1", 0);
            NodeOptions options = NodeOptions.defaults()
                    .progress(NodeOptions.Progress.CALLER)
                    .alive(Duration.ofDays(1))
                    .closeTimeout(Duration.ZERO);
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(own, options, arena);
                Node client = Node.open(own, options, arena);
                Channel[] accepted = new Channel[1];
                Thread accepting = Thread.ofPlatform().start(() -> accepted[0] = accept(server));
                Channel channel = client.connect(server.address(), Loopback.DEADLINE);
                accepting.join();
                server.export("table", arena.allocate(8, 8), AccessFlag.REMOTE_WRITE);
                LocalMemory local = client.register(arena.allocate(8, 8), AccessFlag.LOCAL_WRITE);
                FutureTask<RemoteMemory> asking = new FutureTask<>(() -> channel.remote("table", Loopback.DEADLINE));
                Thread.ofPlatform().start(asking);
                while (!asking.isDone()) {
                    server.progress();
                }
                measure(server, client, accepted[0], channel, local, asking.get());
            }
        }

        private static Channel accept(Node server) {
            try {
                return server.accept(Loopback.DEADLINE);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        private static void measure(
                Node server, Node client, Channel accepted, Channel channel, LocalMemory local, RemoteMemory remote) {
            AllocationProbe.measure("round trips", () -> {
                pass(client, server, channel, accepted);
                pass(server, client, accepted, channel);
            });
            AllocationProbe.measure("notices", () -> notify(client, server, channel, accepted, local, remote));
            accepted.listen((on, request) -> request.reply().length(64).send());
            AllocationProbe.measure("calls", () -> call(client, server, channel));
            AllocationProbe.measure("writes of a number", () -> write(client, channel, remote));
        }

        private static void notify(
                Node client, Node server, Channel channel, Channel accepted, LocalMemory local, RemoteMemory remote) {
            long ticket = channel.tryWriteAndNotify(local, remote, 7);
            while (ticket == 0) {
                client.progress();
                ticket = channel.tryWriteAndNotify(local, remote, 7);
            }
            Message notice = accepted.pollReceive();
            while (notice == null) {
                server.progress();
                notice = accepted.pollReceive();
            }
            notice.close();
            awaitDone(client, channel, ticket);
        }

        private static void write(Node client, Channel channel, RemoteMemory remote) {
            awaitDone(client, channel, channel.tryWriteLong(remote, 7));
        }

        private static void awaitDone(Node client, Channel channel, long ticket) {
            while (!channel.isDone(ticket)) {
                client.progress();
            }
            try {
                channel.await(ticket, Duration.ZERO);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        private static void call(Node client, Node server, Channel channel) {
            Message request = channel.pollMessage();
            while (request == null) {
                client.progress();
                request = channel.pollMessage();
            }
            request.length(64);
            long ticket = channel.tryCall(request);
            while (ticket == 0) {
                client.progress();
                ticket = channel.tryCall(request);
            }
            Message reply = channel.pollReply(ticket);
            while (reply == null) {
                server.progress();
                client.progress();
                reply = channel.pollReply(ticket);
            }
            reply.close();
        }

        private static void pass(Node sender, Node receiver, Channel from, Channel to) {
            Message message = from.pollMessage();
            while (message == null) {
                sender.progress();
                message = from.pollMessage();
            }
            message.length(64);
            while (!from.trySend(message)) {
                sender.progress();
            }
            Message got = to.pollReceive();
            while (got == null) {
                receiver.progress();
                got = to.pollReceive();
            }
            got.close();
        }
    }
}
