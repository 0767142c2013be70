package dev.verbena.sockets;

import static dev.verbena.support.Loopback.DEADLINE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.verbena.support.CmAddress;
import dev.verbena.support.Slow;
import dev.verbena.support.TestDevice;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import java.nio.channels.spi.SelectorProvider;
import java.util.Collection;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Netty's HTTP codecs over RDMA: the bootstraps get the provider, and all else is as over TCP. {@link SelectorTest} and {@link
 * ReadinessTest} have what Netty asks of channels and selectors.
 */
@Slow
class NettyHttpTest {
    private static final int BODY = 200_000;
    private static final SelectorProvider PROVIDER = new RdmaSelectorProvider();

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory(PROVIDER));
    private final Collection<Channel> channels = new ConcurrentLinkedQueue<>();

    /** Closes the channels too: a loop without a quiet period may end before it looks at its channels, which stay open. */
    @AfterEach
    void stop() throws InterruptedException {
        for (Channel channel : channels) {
            assertThat(channel.close().await(DEADLINE.toMillis())).isTrue();
        }
        assertThat(loops.shutdownGracefully(0, DEADLINE.toSeconds(), TimeUnit.SECONDS)
                        .await(DEADLINE.toMillis()))
                .isTrue();
    }

    @Test
    void http1PostIsEchoed() throws Exception {
        Channel server = listen(channel ->
                channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(2 * BODY), new Echo()));
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        Channel client = connect(
                server,
                channel -> channel.pipeline()
                        .addLast(new HttpClientCodec(), new HttpObjectAggregator(2 * BODY), new Answer(answer)));
        postAndCompare(client, answer);
    }

    @Test
    void http2PostIsEchoed() throws Exception {
        Channel server = listen(channel -> channel.pipeline()
                .addLast(
                        Http2FrameCodecBuilder.forServer().build(),
                        new Http2MultiplexHandler(initializer(stream -> stream.pipeline()
                                .addLast(
                                        new Http2StreamFrameToHttpObjectCodec(true),
                                        new HttpObjectAggregator(2 * BODY),
                                        new Echo())))));
        Channel client = connect(
                server,
                channel -> channel.pipeline()
                        .addLast(
                                Http2FrameCodecBuilder.forClient().build(),
                                new Http2MultiplexHandler(initializer(stream -> {}))));
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        Channel stream = new Http2StreamChannelBootstrap(client)
                .handler(initializer(each -> each.pipeline()
                        .addLast(
                                new Http2StreamFrameToHttpObjectCodec(false),
                                new HttpObjectAggregator(2 * BODY),
                                new Answer(answer))))
                .open()
                .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        postAndCompare(stream, answer);
    }

    private void postAndCompare(Channel client, CompletableFuture<byte[]> answer) throws Exception {
        byte[] body = new byte[BODY];
        new Random(1).nextBytes(body);
        long before = TestDevice.packetsSent();
        FullHttpRequest request = new DefaultFullHttpRequest(
                HttpVersion.HTTP_1_1, HttpMethod.POST, "/echo", Unpooled.wrappedBuffer(body));
        HttpUtil.setContentLength(request, BODY);
        client.writeAndFlush(request).sync();
        assertThat(answer.get(DEADLINE.toSeconds(), TimeUnit.SECONDS)).isEqualTo(body);
        assertThat(TestDevice.packetsSent() - before)
                .as("packets of the device, of at most 4 KiB")
                .isGreaterThan(2 * BODY / 4096);
    }

    private Channel listen(Consumer<Channel> pipeline) throws InterruptedException {
        Channel server = new ServerBootstrap()
                .group(loops)
                .channelFactory(() -> new NioServerSocketChannel(PROVIDER))
                .childHandler(initializer(pipeline))
                .bind(CmAddress.four(0))
                .sync()
                .channel();
        channels.add(server);
        return server;
    }

    private Channel connect(Channel server, Consumer<Channel> pipeline) throws InterruptedException {
        return new Bootstrap()
                .group(loops)
                .channelFactory(() -> new NioSocketChannel(PROVIDER))
                .handler(initializer(pipeline))
                .connect(server.localAddress())
                .sync()
                .channel();
    }

    private ChannelHandler initializer(Consumer<Channel> pipeline) {
        return new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channels.add(channel);
                pipeline.accept(channel);
            }
        };
    }

    private static final class Echo extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            ByteBuf body = request.content().retain();
            FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, body);
            HttpUtil.setContentLength(response, body.readableBytes());
            context.writeAndFlush(response);
        }
    }

    private static final class Answer extends SimpleChannelInboundHandler<FullHttpResponse> {
        private final CompletableFuture<byte[]> body;

        Answer(CompletableFuture<byte[]> body) {
            this.body = body;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
            byte[] bytes = new byte[response.content().readableBytes()];
            response.content().readBytes(bytes);
            body.complete(bytes);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            body.completeExceptionally(cause);
        }
    }
}
