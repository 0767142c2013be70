import dev.verbena.sockets.RdmaSelectorProvider;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;

/**
 * A server and a client of grpc-java, whose messages are bytes. Arguments: {@code server} or {@code client}, the way
 * ({@code provider} names the library's provider in the program), and the client's number of calls.
 */
public final class Calls {
    private static final String HOST = "192.0.2.2";
    private static final int PLAIN = 50051;
    private static final int TLS = 50052;
    private static final char[] PASSWORD = "verbena".toCharArray();

    private static final MethodDescriptor<byte[], byte[]> ECHO = method("echo", MethodType.UNARY);
    private static final MethodDescriptor<byte[], byte[]> STREAM = method("stream", MethodType.BIDI_STREAMING);
    private static final MethodDescriptor<byte[], byte[]> WAIT = method("wait", MethodType.UNARY);
    private static final MethodDescriptor<byte[], byte[]> WAITING = method("waiting", MethodType.UNARY);

    private Calls() {}

    public static void main(String[] args) throws Exception {
        if (args[0].equals("server")) {
            serve(args[1]);
        } else {
            int calls = Integer.parseInt(args[2]);
            try (Client plain = new Client(args[1], PLAIN);
                    Client sealed = new Client(args[1], TLS)) {
                plain.run(calls);
                sealed.run(calls);
                sealed.callUntilTheServerIsBack(calls);
                plain.run(calls / 10);
                System.out.println("done");
                System.in.read(); // the test looks at the sockets meanwhile
            }
        }
    }

    private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setFullMethodName(MethodDescriptor.generateFullMethodName("verbena.Calls", name))
                .setType(type)
                .build();
    }

    /** The form of messages on the wire. */
    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static KeyStore keys() throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(Path.of("target/engines/grpc/server.p12"))) {
            keys.load(in, PASSWORD);
        }
        return keys;
    }

    // The server

    private static NettyServerBuilder server(String way, InetSocketAddress address) {
        return way.equals("provider") ? serverOverRdma(address) : NettyServerBuilder.forAddress(address);
    }

    private static NettyServerBuilder serverOverRdma(InetSocketAddress address) {
        SelectorProvider rdma = new RdmaSelectorProvider();
        EventLoopGroup threads = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory(rdma));
        return NettyServerBuilder.forAddress(address)
                .channelFactory(() -> new NioServerSocketChannel(rdma))
                .bossEventLoopGroup(threads)
                .workerEventLoopGroup(threads);
    }

    private static void serve(String way) throws Exception {
        AtomicInteger waiting = new AtomicInteger();
        ServerServiceDefinition service = ServerServiceDefinition.builder("verbena.Calls")
                .addMethod(ECHO, ServerCalls.asyncUnaryCall((bytes, answers) -> answer(answers, bytes)))
                .addMethod(STREAM, ServerCalls.asyncBidiStreamingCall(Echo::new))
                .addMethod(WAIT, ServerCalls.asyncUnaryCall((bytes, answers) -> {
                    waiting.incrementAndGet();
                    ((ServerCallStreamObserver<byte[]>) answers).setOnCancelHandler(waiting::decrementAndGet);
                }))
                .addMethod(
                        WAITING,
                        ServerCalls.asyncUnaryCall((bytes, answers) ->
                                answer(answers, waiting.toString().getBytes())))
                .build();
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys(), PASSWORD);
        server(way, new InetSocketAddress(HOST, PLAIN))
                .addService(service)
                .build()
                .start();
        server(way, new InetSocketAddress(HOST, TLS))
                .sslContext(GrpcSslContexts.configure(SslContextBuilder.forServer(own))
                        .build())
                .addService(service)
                .build()
                .start();
        System.out.println("serving");
        Thread.currentThread().join();
    }

    private static void answer(StreamObserver<byte[]> answers, byte[] bytes) {
        answers.onNext(bytes);
        answers.onCompleted();
    }

    /** Sends back each message of a stream. */
    private record Echo(StreamObserver<byte[]> answers) implements StreamObserver<byte[]> {
        @Override
        public void onNext(byte[] bytes) {
            answers.onNext(bytes);
        }

        @Override
        public void onError(Throwable ended) {}

        @Override
        public void onCompleted() {
            answers.onCompleted();
        }
    }

    // The client

    private static NettyChannelBuilder channel(String way, int port) {
        return way.equals("provider") ? channelOverRdma(HOST, port) : NettyChannelBuilder.forAddress(HOST, port);
    }

    private static NettyChannelBuilder channelOverRdma(String host, int port) {
        SelectorProvider rdma = new RdmaSelectorProvider();
        EventLoopGroup threads = new MultiThreadIoEventLoopGroup(NioIoHandler.newFactory(rdma));
        return NettyChannelBuilder.forAddress(host, port)
                .channelFactory(() -> new NioSocketChannel(rdma))
                .eventLoopGroup(threads);
    }

    private static final class Client implements AutoCloseable {
        private final String name;
        private final ManagedChannel channel;
        private final Random random = new Random(1);

        Client(String way, int port) throws Exception {
            name = port == TLS ? "TLS" : "plain";
            NettyChannelBuilder builder = channel(way, port);
            channel = port == TLS
                    ? builder.sslContext(GrpcSslContexts.forClient()
                                    .trustManager((X509Certificate) keys().getCertificate("server"))
                                    .build())
                            .build()
                    : builder.usePlaintext().build();
        }

        private byte[] call(MethodDescriptor<byte[], byte[]> method, byte[] bytes) {
            return ClientCalls.blockingUnaryCall(channel, method, CallOptions.DEFAULT.withWaitForReady(), bytes);
        }

        private byte[] bytes(int length) {
            byte[] bytes = new byte[length];
            random.nextBytes(bytes);
            return bytes;
        }

        void run(int calls) throws Exception {
            for (int size : new int[] {0, 1, 16_384, 100_000, 4_000_000}) {
                byte[] bytes = bytes(size);
                check(Arrays.equals(call(ECHO, bytes), bytes), size + " bytes come back");
            }
            byte[] small = bytes(100);
            long start = System.nanoTime();
            for (int i = 0; i < calls; i++) {
                check(Arrays.equals(call(ECHO, small), small), "100 bytes come back");
            }
            long called = System.nanoTime();
            stream(10 * calls);
            System.out.printf(
                    "%s: %d us a call of 100 bytes; %d messages of 1000 bytes sent and back in %d ms%n",
                    name, (called - start) / calls / 1000, 10 * calls, (System.nanoTime() - called) / 1_000_000);
            deadline();
            cancel();
        }

        /** Sends messages, as many as the channel takes, and compares those that come back. */
        private void stream(int messages) throws Exception {
            List<byte[]> sent = random.ints(messages)
                    .mapToObj(seed -> new Random(seed)
                            .ints(250)
                            .collect(
                                    () -> java.nio.ByteBuffer.allocate(1000), java.nio.ByteBuffer::putInt, (a, b) -> {})
                            .array())
                    .toList();
            CompletableFuture<Integer> end = new CompletableFuture<>();
            ClientCalls.asyncBidiStreamingCall(
                    channel.newCall(STREAM, CallOptions.DEFAULT), new ClientResponseObserver<byte[], byte[]>() {
                        private int next;
                        private int received;

                        @Override
                        public void beforeStart(ClientCallStreamObserver<byte[]> requests) {
                            requests.setOnReadyHandler(() -> {
                                while (requests.isReady() && next < messages) {
                                    requests.onNext(sent.get(next++));
                                    if (next == messages) {
                                        requests.onCompleted();
                                    }
                                }
                            });
                        }

                        @Override
                        public void onNext(byte[] bytes) {
                            check(
                                    Arrays.equals(bytes, sent.get(received++)),
                                    "message " + received + " is the one sent");
                        }

                        @Override
                        public void onError(Throwable failure) {
                            end.completeExceptionally(failure);
                        }

                        @Override
                        public void onCompleted() {
                            end.complete(received);
                        }
                    });
            check(end.get() == messages, "all messages come back");
        }

        /** Waits until the server has a number of calls that wait. */
        private void awaitWaiting(int count) {
            while (Integer.parseInt(new String(call(WAITING, new byte[0]))) != count) {
                Thread.onSpinWait();
            }
        }

        private void deadline() {
            Status.Code code = Status.Code.OK;
            try {
                ClientCalls.blockingUnaryCall(
                        channel, WAIT, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.SECONDS), new byte[0]);
            } catch (StatusRuntimeException e) {
                code = e.getStatus().getCode();
            }
            check(code == Status.Code.DEADLINE_EXCEEDED, "ended by its deadline: " + code);
            awaitWaiting(0);
        }

        private void cancel() {
            var call = ClientCalls.futureUnaryCall(channel.newCall(WAIT, CallOptions.DEFAULT), new byte[0]);
            awaitWaiting(1);
            check(!call.isDone(), "waiting");
            call.cancel(true);
            awaitWaiting(0);
            System.out.println(name + ": a call ended by its deadline, and one was cancelled, at both ends");
        }

        /** Calls until a call has failed, because the server was killed, and others have succeeded after that. */
        void callUntilTheServerIsBack(int calls) {
            System.out.println("calling");
            int failed = 0;
            for (int succeeded = 0; succeeded < calls; ) {
                try {
                    call(ECHO, bytes(100));
                    succeeded += failed > 0 ? 1 : 0;
                } catch (StatusRuntimeException e) {
                    check(e.getStatus().getCode() == Status.Code.UNAVAILABLE, "failed for a server that is gone: " + e);
                    failed++;
                }
            }
            System.out.println(name + ": the server was killed, " + failed + " calls failed, and calls go on");
        }

        @Override
        public void close() {
            channel.shutdownNow();
        }
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("Not " + what);
        }
    }
}
