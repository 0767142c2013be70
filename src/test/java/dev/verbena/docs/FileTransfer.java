package dev.verbena.docs;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transfer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Set;

// @start region="program"
/** Sends a file of any size: FileTransfer receive|send ADDRESS PORT FILE [SECRET-FILE]; the address is the receiver's. */
public final class FileTransfer {
    private static final Duration TIMEOUT = Duration.ofHours(1);

    public static void main(String[] args) throws Exception {
        NodeOptions open = NodeOptions.defaults();
        NodeOptions options = args.length > 4 ? open.secret(Files.readAllBytes(Path.of(args[4]))) : open;
        InetSocketAddress address = new InetSocketAddress(args[1], Integer.parseInt(args[2]));
        Set<StandardOpenOption> mode = args[0].equals("send") ? Set.of(READ) : Set.of(CREATE_NEW, READ, WRITE);
        try (VerbsArena arena = VerbsArena.ofShared();
                FileChannel file = FileChannel.open(Path.of(args[3]), mode)) {
            if (args[0].equals("send")) {
                Channel channel = Node.openTowards(address, options, arena).connect(address, TIMEOUT);
                channel.offer(file, 0, file.size(), sha256(args[3]), TIMEOUT);
            } else {
                Channel channel = Node.open(address, options, arena).accept(TIMEOUT);
                Transfer transfer = channel.receive(TIMEOUT).transfer();
                transfer.fetch(file, 0, System.out::println, TIMEOUT);
                if (!MessageDigest.isEqual(sha256(args[3]), transfer.about())) {
                    throw new IOException("The SHA-256 is wrong"); // offer() throws too
                }
                transfer.confirm(); // offer() returns
            }
        }
    }

    static byte[] sha256(String file) throws Exception {
        try (var in =
                new DigestInputStream(Files.newInputStream(Path.of(file)), MessageDigest.getInstance("SHA-256"))) {
            in.transferTo(OutputStream.nullOutputStream());
            return in.getMessageDigest().digest();
        }
    }
}
// @end
