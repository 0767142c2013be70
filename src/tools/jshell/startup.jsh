import dev.verbena.*
import dev.verbena.verbs.*
import dev.verbena.tools.LoopbackPair
import static dev.verbena.tools.Shell.*
import static dev.verbena.verbs.AccessFlag.*
import java.lang.foreign.*
import static java.lang.foreign.ValueLayout.*
import java.time.Duration
import java.util.*
