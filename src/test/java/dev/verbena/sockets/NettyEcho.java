package dev.verbena.sockets;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.net.InetSocketAddress;
import java.nio.channels.spi.SelectorProvider;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

/**
 * Netty's echo, for {@code scripts/bench --sockets}: a message goes there and back between two event loops of one process.
 */
final class NettyEcho {
    private NettyEcho() {}

    /** Arguments: rdma or tcp, address, size, round trips to warm up, round trips. */
    public static void main(String[] args) throws Exception {
        SelectorProvider provider = SocketStream.provider(args[0]);
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory(provider));
        Channel server = new ServerBootstrap()
                .group(loops)
                .channelFactory(() -> new NioServerSocketChannel(provider))
                .childHandler(initializer(new Echo()))
                .bind(new InetSocketAddress(args[1], 0))
                .sync()
                .channel();
        Measurement measurement =
                new Measurement(Integer.parseInt(args[2]), Integer.parseInt(args[3]), Integer.parseInt(args[4]));
        new Bootstrap()
                .group(loops)
                .channelFactory(() -> new NioSocketChannel(provider))
                .handler(initializer(measurement))
                .connect(server.localAddress())
                .sync();
        System.out.println(String.format(Locale.ROOT, "usec %.2f", measurement.nanoseconds.get() / 1e3));
        System.exit(0); // no wait for the loops
    }

    private static ChannelHandler initializer(ChannelHandler handler) {
        return new ChannelInitializer<Channel>() {
            @Override
            protected void initChannel(Channel channel) {
                channel.pipeline().addLast(handler);
            }
        };
    }

    private static final class Echo extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            context.writeAndFlush(message, context.voidPromise());
        }
    }

    /** Sends a message when the last one has come back as a whole. */
    private static final class Measurement extends ChannelInboundHandlerAdapter {
        final CompletableFuture<Double> nanoseconds = new CompletableFuture<>();
        private final int size;
        private final int warm;
        private final int rounds;
        private int left;
        private int done;
        private long start;

        Measurement(int size, int warm, int rounds) {
            this.size = size;
            this.warm = warm;
            this.rounds = rounds;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            send(context);
        }

        private void send(ChannelHandlerContext context) {
            left = size;
            context.writeAndFlush(context.alloc().directBuffer(size).writeZero(size), context.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            ByteBuf part = (ByteBuf) message;
            left -= part.readableBytes();
            part.release();
            if (left > 0) {
                return;
            }
            if (++done == warm) {
                start = System.nanoTime();
            }
            if (done < warm + rounds) {
                send(context);
            } else {
                nanoseconds.complete((double) (System.nanoTime() - start) / rounds);
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            nanoseconds.completeExceptionally(cause);
        }
    }
}
