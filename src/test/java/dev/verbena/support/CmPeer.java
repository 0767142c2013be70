package dev.verbena.support;

import dev.verbena.VerbsArena;
import dev.verbena.cm.Connection;
import dev.verbena.cm.Listener;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetSocketAddress;

/** A program to be killed: a server that never accepts, or a client that has a connection. */
public final class CmPeer implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    private CmPeer(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /**
     * Starts a {@code server} at an address, or a client that prints a line when it is {@code connected} to an address.
     */
    public static CmPeer start(String role, InetSocketAddress address) throws IOException {
        return new CmPeer(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                .startOnClassPath(
                        CmPeer.class,
                        role,
                        address.getAddress().getHostAddress(),
                        Integer.toString(address.getPort())));
    }

    public String nextLine() throws IOException {
        return output.readLine();
    }

    /** Kills the process as {@code kill -9} does. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    public static void main(String[] arguments) throws Exception {
        InetSocketAddress address = new InetSocketAddress(arguments[1], Integer.parseInt(arguments[2]));
        VerbsArena arena = VerbsArena.ofShared();
        if (arguments[0].equals("server")) {
            Listener listener = Listener.open(address, arena);
            System.out.println(listener.address().getPort());
            listener.awaitConnection(Loopback.DEADLINE);
            System.out.println("requested");
        } else {
            Connection.open(address, Loopback.DEADLINE, arena);
            System.out.println("connected");
        }
        System.in.read(); // until it is killed
    }
}
