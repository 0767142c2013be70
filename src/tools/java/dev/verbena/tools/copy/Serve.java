package dev.verbena.tools.copy;

import dev.verbena.VerbsArena;
import dev.verbena.VerbsException;
import dev.verbena.net.Channel;
import dev.verbena.net.ChannelException;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.net.Transfer;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.SecretFile;
import dev.verbena.tools.command.Tool;
import dev.verbena.verbs.Device;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Receives the files of {@link Cp} into a folder. */
public final class Serve {
    private static final String USAGE = """
            usage: verbena serve [OPTION]... DIR
              -b ADDRESS     address of a device of this machine (default: that of the
                             first device)
              -p PORT        port (default: 7174)
              --secret-file=FILE
                             take files only from 'verbena cp' with the same bytes in a
                             file, and encrypt all that travels
              --token=TEXT   take files only from 'verbena cp' with the same token, which
                             travels unencrypted

            Receives files into the folder DIR until Ctrl-C. A file that exists is
            replaced when the new one is whole and its SHA-256 is right. Nothing outside
            DIR is written, and no link is followed. Unfinished files stay as
            .verbena-SHA256, so that the next 'verbena cp' of the same file goes on. Of
            a folder's unfinished files, the last 100 are kept, for 14 days.
            Without --secret-file and --token, all who reach the port can write into DIR.
            Make the file by 'head -c 32 /dev/urandom'; others must not be able to read it.""";

    /** The longest time for a piece, and for the peer to begin with the next one. */
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private final PrintStream out;
    private final Inbox inbox;

    private Serve(PrintStream out, Inbox inbox) {
        this.out = out;
        this.inbox = inbox;
    }

    /**
     * Runs the tool.
     *
     * @param args the options
     * @param out takes the output
     * @return the exit status
     * @throws Exception if the tool fails
     */
    public static int run(String[] args, PrintStream out) throws Exception {
        Options options = Options.parse(args, USAGE, 1);
        int port = options.number("-p", CopyWire.PORT, 0, 65_535);
        byte[] token = token(options);
        if (options.operand(0).isEmpty()) {
            throw options.usage("the folder DIR is missing");
        }
        NodeOptions sizes = NodeOptions.defaults().maxTransferSize(Inbox.PIECE).maxExports(0);
        sizes = protect(options, sizes, out);
        if (token.length > 0) {
            sizes = sizes.admit((peer, given) -> MessageDigest.isEqual(given, token));
        }
        Path folder = Path.of(options.operand(0));
        try (Inbox inbox = new Inbox(folder);
                VerbsArena arena = VerbsArena.ofShared()) {
            Node node = Node.open(own(options, port, arena), sizes, arena);
            out.println("serving " + folder + " at " + text(node.address()));
            new Serve(out, inbox).serve(node);
        }
        return Tool.OK;
    }

    /** Returns sizes with the secret of the file, if there is one. */
    static NodeOptions protect(Options options, NodeOptions sizes, PrintStream out) throws IOException {
        byte[] secret = SecretFile.read(options);
        if (secret != null) {
            return sizes.secret(secret);
        }
        if (options.has("--token")) {
            out.println("warning: --token and the files travel unencrypted, for all to read: take --secret-file");
        }
        return sizes;
    }

    static byte[] token(Options options) {
        byte[] token = options.text("--token", "").getBytes(StandardCharsets.UTF_8);
        if (token.length > 40 || (options.has("--token") && token.length == 0)) {
            throw options.usage("--token must have 1 to 40 bytes, got " + token.length);
        }
        return token;
    }

    private static InetSocketAddress own(Options options, int port, VerbsArena arena) {
        return options.has("-b")
                ? new InetSocketAddress(options.text("-b", ""), port)
                : new InetSocketAddress(
                        Device.first().open(arena).bestGid(1).gid().toInetAddress(), port);
    }

    private static String text(InetSocketAddress address) {
        return address.getAddress().getHostAddress() + " port " + address.getPort();
    }

    private void serve(Node node) throws InterruptedException {
        for (; ; ) {
            Channel channel = node.accept(Tool.FOR_EVER);
            Thread.ofPlatform().daemon().name("serve").start(() -> serve(channel));
        }
    }

    private void serve(Channel channel) {
        Copy copy = new Copy(channel);
        try (channel) {
            copy.run();
        } catch (VerbsException | IllegalStateException end) {
            copy.end(String.valueOf(end.getMessage()));
        } catch (InterruptedException end) {
            copy.end("interrupted");
        }
    }

    /** The files of one peer, one after the other. */
    private final class Copy {
        private final Channel channel;
        private Inbox.@Nullable Incoming file;
        private CopyWire.@Nullable Begin begin;

        private Copy(Channel channel) {
            this.channel = channel;
        }

        private void run() throws InterruptedException {
            for (; ; ) {
                try (Message message = channel.receive(PATIENCE)) {
                    handle(message);
                } catch (ChannelException end) {
                    end(String.valueOf(end.getMessage()));
                    return;
                }
            }
        }

        private void handle(Message message) throws InterruptedException {
            try {
                if (message.isOffer()) {
                    take(message);
                } else if (CopyWire.kind(message) == CopyWire.BEGIN) {
                    begin(message);
                } else if (CopyWire.kind(message) == CopyWire.END) {
                    finish(message);
                } else {
                    throw new IOException("The request is unknown: the peer has another version of verbena");
                }
            } catch (IOException failed) {
                String reason = Tool.inOneLine(failed);
                end(reason);
                if (message.isRequest() || message.isOffer()) {
                    message.refuse(reason);
                }
            }
        }

        private void begin(Message message) throws IOException {
            end("another file began");
            CopyWire.Begin asked = CopyWire.Begin.from(message);
            begin = asked;
            Inbox.Incoming opened = inbox.receive(asked.path(), asked.size(), asked.sum());
            file = opened;
            CopyWire.reply(message, opened.next());
        }

        private void take(Message message) throws IOException, InterruptedException {
            Inbox.Incoming to = file;
            if (to == null) {
                throw new IOException("No file was begun");
            }
            try (Transfer transfer = message.transfer()) {
                if (transfer.length() != to.piece() || to.piece() == 0) {
                    String reason = "A piece must have " + to.piece() + " bytes, got " + transfer.length();
                    transfer.refuse(reason);
                    end(reason);
                    return;
                }
                try {
                    transfer.fetch(to.file(), to.next(), done -> {}, PATIENCE);
                } catch (IOException failed) {
                    transfer.refuse(Tool.inOneLine(failed));
                    throw failed;
                }
                to.arrived();
                transfer.confirm();
            }
        }

        private void finish(Message message) throws IOException {
            Inbox.Incoming whole = file;
            CopyWire.Begin asked = begin;
            if (whole == null || asked == null) {
                throw new IOException("No file was begun");
            }
            whole.finish();
            file = null;
            whole.close();
            print("received %s, %d bytes, from %s", asked.path(), asked.size(), text(channel.peer()));
            message.reply().length(0).send();
        }

        private void end(String reason) {
            Inbox.Incoming open = file;
            CopyWire.Begin asked = begin;
            file = null;
            begin = null;
            if (open != null && asked != null) {
                try {
                    open.close();
                } catch (IOException e) {
                    print("could not close %s: %s", asked.path(), String.valueOf(e.getMessage()));
                }
                print(
                        "left %s at %d of %d bytes: %s",
                        asked.path(), open.next(), asked.size(), reason); // and can go on
            }
        }

        private void print(String format, Object... values) {
            out.println(PeerText.harmless(String.format(Locale.ROOT, format, values)));
        }
    }
}
