package dev.verbena.tools.copy;

import dev.verbena.VerbsArena;
import dev.verbena.net.Channel;
import dev.verbena.net.Message;
import dev.verbena.net.Node;
import dev.verbena.net.NodeOptions;
import dev.verbena.tools.command.Options;
import dev.verbena.tools.command.PeerText;
import dev.verbena.tools.command.Tool;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Locale;

/** Copies a file to another machine, where {@link Serve} runs. */
public final class Cp {
    private static final String USAGE = """
            usage: verbena cp [OPTION]... FILE HOST:[PATH]
              -b ADDRESS     address of a device of this machine (default: the one that the
                             routes to HOST lead through)
              -p PORT        port of 'verbena serve' (default: 7174)
              --secret-file=FILE
                             a file with the same bytes as that of 'verbena serve', 16 or
                             more, which others can't read; encrypts all that travels
              --token=TEXT   the token of 'verbena serve', of 1 to 40 bytes, which travels
                             unencrypted without --secret-file

            Copies FILE into the folder of 'verbena serve' on HOST, as PATH in that folder
            (default: the name of FILE; PATH/ puts it into the folder PATH). An IPv6
            address is [ADDRESS]:. A copy that was interrupted goes on where it ended. The
            SHA-256 of the file is compared at the end.""";

    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration CONNECT = Duration.ofSeconds(60);

    /** The bytes of a second that the server reads at least to check the sum. */
    private static final long SLOWEST_SUM = 5_000_000;

    private final Options options;
    private final PrintStream out;
    private final Path source;
    private final String host;
    private final String path;
    private final int port;
    private final byte[] token;

    private Cp(String[] args, PrintStream out) {
        options = Options.parse(args, USAGE, 2);
        this.out = out;
        port = options.number("-p", CopyWire.PORT, 1, 65_535);
        token = Serve.token(options);
        source = Path.of(options.operand(0));
        String target = options.operand(1);
        int end = target.startsWith("[") ? target.indexOf("]:") + 1 : target.indexOf(':');
        if (options.operand(0).isEmpty() || end < 1) {
            throw options.usage("FILE and HOST: are required, with the colon");
        }
        host = target.startsWith("[") ? target.substring(1, end - 1) : target.substring(0, end);
        String asked = target.substring(end + 1);
        Path name = source.getFileName();
        path = asked.isEmpty() || asked.endsWith("/") ? asked + name : asked;
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
        return new Cp(args, out).run();
    }

    private int run() throws Exception {
        InetSocketAddress server = new InetSocketAddress(host, port);
        if (!Files.isRegularFile(source)) {
            throw new IOException("'" + source + "' is not a file");
        }
        try (FileChannel file = FileChannel.open(source);
                VerbsArena arena = VerbsArena.ofShared()) {
            NodeOptions sizes =
                    Serve.protect(options, NodeOptions.defaults().token(token).maxExports(0), out);
            Node node = options.has("-b")
                    ? Node.open(new InetSocketAddress(options.text("-b", ""), 0), sizes, arena)
                    : Node.openTowards(server, sizes, arena);
            long size = file.size();
            byte[] sum = sum(file, size);
            try (Channel channel = node.connect(server, CONNECT)) {
                copy(channel, file, size, sum);
            }
        }
        return Tool.OK;
    }

    private byte[] sum(FileChannel file, long size) throws IOException {
        try (CopyProgress progress = new CopyProgress("checking " + source, size)) {
            return CopyWire.sum(file, size, progress::show);
        }
    }

    private void copy(Channel channel, FileChannel file, long size, byte[] sum)
            throws IOException, InterruptedException {
        long start = System.nanoTime();
        long begun;
        Message request = channel.message(PATIENCE);
        new CopyWire.Begin(path, size, sum).writeTo(request);
        try (Message reply = channel.call(request, PATIENCE)) {
            begun = CopyWire.place(reply, size);
        }
        try (CopyProgress progress = new CopyProgress(path, size)) {
            for (long at = begun; at < size; ) {
                progress.show(at);
                long piece = Math.min(Inbox.PIECE, size - at);
                channel.offer(file, at, piece, new byte[0], PATIENCE);
                at += piece;
            }
            progress.show(size);
        }
        Message end = channel.message(PATIENCE).length(1);
        end.segment().set(ValueLayout.JAVA_BYTE, 0, CopyWire.END);
        channel.call(end, PATIENCE.plusSeconds(size / SLOWEST_SUM)).close();
        double seconds = (System.nanoTime() - start) / 1e9;
        if (begun > 0) {
            out.println(PeerText.harmless(path) + " goes on at " + begun + " bytes");
        }
        out.println(String.format(
                Locale.ROOT,
                "%s: %d bytes in %.2f s, %.1f MB/s, SHA-256 %s",
                PeerText.harmless(path),
                size - begun,
                seconds,
                (size - begun) / seconds / 1e6,
                HexFormat.of().formatHex(sum)));
    }
}
