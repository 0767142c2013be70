package dev.verbena.tools.shell;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** A page that the JDK's HTTP client fetches from the JDK's HTTP server, over RDMA or over TCP: this class does not know. */
final class WebPage {
    private static final Duration DEADLINE = Duration.ofSeconds(60);
    private static final byte[] PAGE = "a page".getBytes(StandardCharsets.UTF_8);

    private WebPage() {}

    /** Serves the page at an address, and fetches it. Returns the URI and the response. */
    static String fetch(InetAddress address) throws IOException, InterruptedException {
        HttpServer server = HttpServer.create(new InetSocketAddress(address, 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, PAGE.length);
            exchange.getResponseBody().write(PAGE);
            exchange.close();
        });
        server.start();
        try (HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            URI page = URI.create("http://" + address.getHostAddress() + ":"
                    + server.getAddress().getPort() + "/");
            HttpResponse<String> response = client.send(
                    HttpRequest.newBuilder(page).timeout(DEADLINE).build(), HttpResponse.BodyHandlers.ofString());
            return page + ": " + response.statusCode() + ", \"" + response.body() + '"';
        } finally {
            server.stop(0);
        }
    }
}
