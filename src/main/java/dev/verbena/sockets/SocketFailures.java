package dev.verbena.sockets;

import dev.verbena.internal.Errno;
import dev.verbena.internal.OpenFiles;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;

/** Converts error numbers to the exceptions that {@code java.net} and {@code java.nio} have for them. */
final class SocketFailures {
    private SocketFailures() {}

    /** Makes the exception of a function that has no special one. */
    static IOException of(String function, int errno) {
        return new SocketException(function + ": " + Errno.describe(errno) + hint(errno));
    }

    /** Makes the exception of a failed read. */
    static IOException read(int errno) {
        return reset("rrecv", errno);
    }

    /** Makes the exception of a failed write. */
    static IOException write(int errno) {
        return errno == Errno.EPIPE ? new SocketException("Broken pipe") : reset("rsend", errno);
    }

    private static IOException reset(String function, int errno) {
        return switch (errno) {
            case Errno.ECONNRESET -> new SocketException("Connection reset");
            // The adapter got no acknowledgement, or the peer's adapter refused the data: TCP would call it a reset.
            case Errno.EIO ->
                new SocketException("Connection reset: the peer's RDMA adapter does not answer, or its "
                        + "queue pair was destroyed (" + function + ": EIO)");
            default -> of(function, errno);
        };
    }

    /** Makes the exception of memory that can't be mapped. */
    static IOException map(MappedSegment segment, int errno) {
        return new SocketException("riomap(" + segment + "): " + Errno.describe(errno)
                + (errno == Errno.ENOMEM
                        ? ". The peer takes RDMA_IOMAPSIZE mapped segments, by default none: it must set that option before "
                                + "it connects, or on its server channel. Else the limit of locked memory ('ulimit -l') is "
                                + "too low"
                        : ""));
    }

    /** Makes the exception of a failed {@code bind} or {@code listen}. */
    static IOException bind(String function, InetSocketAddress address, int errno) {
        String what = function + "(" + address + "): " + Errno.describe(errno);
        return switch (errno) {
            case Errno.ENODEV, Errno.EADDRNOTAVAIL ->
                new BindException(what
                        + ". Bind to the wildcard address, or to an address of an RDMA device's network interface"
                        + loopback(address));
            case Errno.EACCES, Errno.EPERM -> new BindException(what + ". Ports below 1024 need privileges");
            default -> errno == Errno.EADDRINUSE ? new BindException(what) : of(function, errno);
        };
    }

    /** Makes the exception of a failed connect. */
    static IOException connect(InetSocketAddress address, int errno) {
        return switch (errno) {
            case Errno.ECONNREFUSED ->
                new ConnectException("Connection refused: " + address
                        + ". The server must accept RDMA connections (rsockets); a TCP server does not");
            case Errno.ETIMEDOUT -> new ConnectException("Connection timed out: " + address);
            case Errno.EHOSTUNREACH ->
                new NoRouteToHostException(
                        "No route to host: " + address + ". The host does not answer, or is not reached over RDMA");
            case Errno.ENODEV, Errno.ENETUNREACH, Errno.EADDRNOTAVAIL ->
                new ConnectException("rconnect(" + address + "): " + Errno.describe(errno)
                        + ". No RDMA device is on the route to this address" + loopback(address));
            case Errno.EINVAL ->
                new ConnectException("rconnect(" + address + "): " + Errno.describe(errno) + InlineDataLimits.hint());
            default -> new ConnectException("rconnect(" + address + "): " + Errno.describe(errno) + hint(errno));
        };
    }

    private static String loopback(InetSocketAddress address) {
        return address.getAddress() != null && address.getAddress().isLoopbackAddress()
                ? ". The loopback interface has no RDMA device: use this machine's address on an RDMA network"
                : "";
    }

    private static String hint(int errno) {
        if (OpenFiles.areTooMany(errno)) {
            return ". " + OpenFiles.hint(errno);
        }
        if (errno == Errno.ENOMEM && OpenFiles.areUsedUp()) { // so rsocket reports what its own open() could not do
            return ". " + OpenFiles.hint(Errno.EMFILE);
        }
        return errno == Errno.ENOMEM
                ? ". Each connection has registered buffers of SO_SNDBUF and SO_RCVBUF: make them smaller, or raise the "
                        + "limit of locked memory ('ulimit -l')"
                : "";
    }
}
