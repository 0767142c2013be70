package dev.verbena.docs;

import dev.verbena.examples.valkey.ValkeyConnection;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Jedis on the example {@code ValkeyConnection}, as the chapter shows it. */
public final class ValkeySnippets {
    private ValkeySnippets() {}

    /** Returns a client of a server, with a timeout in milliseconds. */
    public static Jedis jedis(InetSocketAddress server, int timeout) {
        return new Jedis(() -> {
            try {
                Socket socket = new ValkeyConnection();
                socket.connect(server, timeout);
                socket.setSoTimeout(timeout);
                return socket;
            } catch (IOException e) {
                throw new JedisConnectionException(e);
            }
        });
    }
}
