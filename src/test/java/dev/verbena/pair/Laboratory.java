package dev.verbena.pair;

import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.Loopback;
import dev.verbena.support.Resources;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The pair of guests: faults, and roles in the other guest. Ends all faults after each test, and looks for leftovers. */
final class Laboratory implements AfterEachCallback {
    /** The acknowledgement timeout of connections that are to notice a dead peer soon: 0.5 s with the default retries. */
    static final Duration SOON = Duration.ofMillis(60);

    /** The acknowledgement timeout of connections that must survive, also if a busy machine stops a guest. */
    static final Duration PATIENT = Duration.ofMillis(250);

    /** Long enough for a guest to boot and to start a JVM, on a slow and busy machine. */
    private static final Duration BOOT = Duration.ofMinutes(5);

    private static boolean dead;

    private boolean changed;
    private final List<Conversation> conversations = new ArrayList<>();

    /** Returns an address of this guest on the wire. */
    static InetSocketAddress own(int port) {
        return new InetSocketAddress(System.getenv("VERBENA_ADDRESS"), port);
    }

    /** Returns an address of the other guest on the wire. */
    static InetSocketAddress peer(int port) {
        return new InetSocketAddress(System.getenv("VERBENA_PEER"), port);
    }

    /** Returns an address of this guest on the link that has no faults. */
    static InetSocketAddress ownLink(int port) {
        return new InetSocketAddress(System.getenv("VERBENA_LINK"), port);
    }

    /** Returns an address of the other guest on the link that has no faults. */
    static InetSocketAddress peerLink(int port) {
        return new InetSocketAddress(System.getenv("VERBENA_LINK_PEER"), port);
    }

    /** Returns an IPv6 address of this guest on the wire. */
    static InetSocketAddress ownSix(int port) {
        return new InetSocketAddress(System.getenv("VERBENA_SIDE").equals("a") ? "2001:db8::1" : "2001:db8::2", port);
    }

    /** Returns an IPv6 address of the other guest on the wire. */
    static InetSocketAddress peerSix(int port) {
        return new InetSocketAddress(System.getenv("VERBENA_SIDE").equals("a") ? "2001:db8::2" : "2001:db8::1", port);
    }

    /** Sends a request to the pair, as {@code scripts/soft-roce} does. */
    void request(String request) throws Exception {
        changed = true;
        assertThat(Control.ask(request)).as(request).isEqualTo("0");
    }

    /** Ends the other guest at once. */
    void cutPower() throws Exception {
        request("kill b");
        dead = true;
    }

    /** Boots the other guest again, and waits for its driver. */
    void reboot() throws Exception {
        request("reboot b");
        dead = false;
    }

    /** Changes what happens to the packets that this guest sends on the wire, in words of {@code tc}. */
    static void changeOwnEnd(String queue) throws IOException, InterruptedException {
        run(("tc qdisc replace dev e0 root " + queue).split(" "));
    }

    /** Starts a role in the other guest. */
    Conversation start(Class<? extends Role> role) throws Exception {
        if (dead) {
            reboot();
        }
        long end = System.nanoTime() + BOOT.toNanos();
        for (; ; ) {
            Socket socket = new Socket();
            try {
                socket.connect(peerLink(PeerDriver.PORT), 2000);
                Conversation made = new Conversation(socket);
                made.say(role.getName());
                conversations.add(made);
                return made;
            } catch (IOException notYet) {
                socket.close();
                if (System.nanoTime() - end > 0) {
                    throw notYet;
                }
                TimeUnit.MILLISECONDS.sleep(200);
            }
        }
    }

    /** Returns a counter of the device. */
    static long counter(String name) throws IOException {
        return Long.parseLong(Files.readString(Path.of("/sys/class/infiniband/rxe0/ports/1/hw_counters", name))
                .strip());
    }

    /** Runs a program and returns its output. */
    static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(Loopback.DEADLINE.toSeconds(), TimeUnit.SECONDS))
                .as(output)
                .isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        return output;
    }

    @Override
    public void afterEach(ExtensionContext context) throws Exception {
        for (Conversation each : conversations) {
            each.close(); // the role of a failed test ends, too
        }
        if (changed && !dead) {
            request("thaw b");
        }
        if (changed) {
            request("wire up");
            request("wire clear");
        }
        if (context.getExecutionException().isEmpty()) {
            assertThat(Resources.ofThisProcess()).isEqualTo(List.of());
        }
    }
}
