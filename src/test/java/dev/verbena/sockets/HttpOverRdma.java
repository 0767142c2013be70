package dev.verbena.sockets;

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Executors;

/**
 * A program that knows nothing of RDMA: an HTTP server and client of the JDK. It posts some bodies, and prints whether
 * they came back, with the lines of {@code /proc/net/tcp} that have the server's port.
 */
public final class HttpOverRdma {
    private HttpOverRdma() {}

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(arguments[0], 0), 0);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, body.length == 0 ? -1 : body.length);
            try (var out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
        int port = server.getAddress().getPort();
        try (HttpClient client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofMinutes(1))
                .build()) {
            for (int size : new int[] {1, 1_000, 300_000}) {
                byte[] body = SocketPair.pattern(size);
                HttpResponse<byte[]> response = client.send(
                        HttpRequest.newBuilder(URI.create("http://" + arguments[0] + ":" + port + "/"))
                                .POST(HttpRequest.BodyPublishers.ofByteArray(body))
                                .timeout(Duration.ofMinutes(2))
                                .build(),
                        HttpResponse.BodyHandlers.ofByteArray());
                System.out.println(
                        size + " bytes: " + response.statusCode() + " " + Arrays.equals(body, response.body()));
            }
            String hexadecimal = ":%04X ".formatted(port);
            for (String table : new String[] {"tcp", "tcp6"}) {
                try (var lines = Files.lines(Path.of("/proc/net", table))) {
                    System.out.println(table + " "
                            + lines.filter(line -> line.contains(hexadecimal)).count());
                }
            }
        }
        server.stop(0);
        System.out.println("done");
        System.exit(0);
    }
}
