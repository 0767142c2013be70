package dev.verbena.cm;

import dev.verbena.VerbsArena;
import dev.verbena.support.ChildJvm;
import dev.verbena.support.Loopback;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetSocketAddress;

/** A server that never accepts, in a process of its own, to be killed. */
final class CmPeer implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;

    private CmPeer(Process process) {
        this.process = process;
        this.output = process.inputReader();
    }

    /** Starts a server at an address. It prints its port, and a line when it has a request. */
    public static CmPeer start(InetSocketAddress address) throws IOException {
        return new CmPeer(ChildJvm.with(ChildJvm.DENY, "--enable-native-access=ALL-UNNAMED")
                .startOnClassPath(
                        CmPeer.class, address.getAddress().getHostAddress(), Integer.toString(address.getPort())));
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
        InetSocketAddress address = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        VerbsArena arena = VerbsArena.ofShared();
        Listener listener = Listener.open(address, arena);
        System.out.println(listener.address().getPort());
        listener.awaitConnection(Loopback.DEADLINE);
        System.out.println("requested");
        System.in.read(); // until it is killed
    }
}
