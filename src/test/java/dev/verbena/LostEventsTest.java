package dev.verbena;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.verbena.net.CallException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transport;
import dev.verbena.support.Await;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.CmAddress;
import dev.verbena.support.Fenced;
import dev.verbena.support.FencedTest;
import dev.verbena.support.LibraryCopy;
import dev.verbena.support.Loopback;
import dev.verbena.verbs.AccessFlag;
import dev.verbena.verbs.AsyncEvent;
import dev.verbena.verbs.RemoteMemory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.Event;
import jdk.jfr.Recording;
import org.junit.jupiter.api.Test;

/** Events of the flight recorder that can't be made. */
@FencedTest
class LostEventsTest {
    /** Memory may have been missing when a class was used first: the JDK does not initialize it again. */
    @Test
    void missingClassesOfEventsEndNothing() {
        assertThat(ChildJvm.onTheProvider().runOnClassPath(Program.class).successfulOutput())
                .contains("ChannelEndEvent", "RegistrationEvent", "done");
    }

    /** Works in classes of their own, without those of events, which listeners of the recorder keep. */
    static final class Program {
        public static void main(String[] args) throws IOException {
            Set<String> missing = events();
            System.out.println(missing);
            System.out.println(LibraryCopy.call(Work.class, Map.of(), missing));
        }
    }

    private static Set<String> events() throws IOException {
        Path place = ChildJvm.place(Rdma.class);
        try (Stream<Path> files = Files.walk(place)) {
            return files.map(file -> place.relativize(file).toString())
                    .filter(name -> name.endsWith("Event.class"))
                    .map(name ->
                            name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .filter(LostEventsTest::isEvent)
                    .collect(Collectors.toSet());
        }
    }

    private static boolean isEvent(String name) {
        try {
            return Event.class.isAssignableFrom(Class.forName(name, false, Rdma.class.getClassLoader()));
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    /** Does what most events tell of, during a recording. */
    static final class Work implements Callable<String> {
        @Override
        public String call() throws Exception {
            try (Recording recording = new Recording()) {
                recording.start();
                useVerbs();
                useNodes(Transport.RDMA, CmAddress.four(0));
                useNodes(Transport.TCP, new InetSocketAddress("127.0.0.1", 0));
            }
            return "done";
        }

        private static void useVerbs() throws InterruptedException {
            try (Loopback loopback = Loopback.connected()) {
                loopback.domain.register(loopback.arena.allocate(64), AccessFlag.LOCAL_WRITE);
                Fenced.raise(loopback.context, AsyncEvent.Type.PORT_ACTIVE.code());
                assertThat(loopback.context.events().await(DEADLINE).type()).isEqualTo(AsyncEvent.Type.PORT_ACTIVE);
                loopback.left.pair.postRead(7, loopback.left.buffer.slice(0, 8), new RemoteMemory(0, 0, 8));
                assertThat(loopback.left.next().isSuccess()).isFalse();
            }
        }

        private static void useNodes(Transport transport, InetSocketAddress own) throws InterruptedException {
            NodeOptions options = NodeOptions.defaults().transport(transport);
            byte[] secret = new byte[32];
            try (VerbsArena arena = VerbsArena.ofShared()) {
                Node server = Node.open(own, options, arena);
                Node client = Node.open(own, options, arena);
                server.listen((_, _) -> {
                    throw new IllegalArgumentException("of the test");
                });
                Channel channel = client.connect(server.address(), DEADLINE);
                assertThatExceptionOfType(CallException.class)
                        .isThrownBy(() -> channel.call(channel.message(DEADLINE), DEADLINE));
                channel.close();
                Node other = Node.open(own, options.secret(secret), arena);
                assertThatExceptionOfType(ChannelException.class)
                        .isThrownBy(() -> client.connect(other.address(), DEADLINE));
                Await.until(
                        "the server has counted the end",
                        () -> server.statistics().ended() == 1);
            }
        }
    }
}
