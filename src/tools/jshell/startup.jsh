import dev.verbena.*
import dev.verbena.cm.*
import dev.verbena.net.*
import dev.verbena.verbs.*
import dev.verbena.verbs.address.*
import dev.verbena.verbs.device.*
import dev.verbena.verbs.flow.*
import dev.verbena.tools.shell.Latency
import dev.verbena.tools.shell.NodePair
import dev.verbena.tools.device.LoopbackPair
import static dev.verbena.tools.shell.Shell.*
import static dev.verbena.verbs.AccessFlag.*
import java.lang.foreign.*
import static java.lang.foreign.ValueLayout.*
import java.net.InetSocketAddress
import java.time.Duration
import java.util.*
import java.util.concurrent.CompletableFuture
