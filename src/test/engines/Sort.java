import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Lets Spark sort records, and checks them. The number of a record gives its key, and the key its bytes. Arguments: the number
 * of records and of partitions.
 */
public final class Sort {
    private static final int BYTES = 1000;

    private Sort() {}

    /** The records of a sorted partition. */
    private static final class Part implements java.io.Serializable {
        private static final long serialVersionUID = 1;

        long first;
        long last = Long.MIN_VALUE;
        long count;
        long sum;
        String executor;
    }

    public static void main(String[] args) {
        int records = Integer.parseInt(args[0]);
        int partitions = Integer.parseInt(args[1]);
        List<Integer> numbers = IntStream.range(0, partitions).boxed().toList();
        try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName("sort"))) {
            List<Part> parts = spark.parallelize(numbers, partitions)
                    .flatMapToPair(number -> made(number, partitions, records))
                    .sortByKey(true, partitions)
                    .mapPartitions(sorted -> List.of(checked(sorted)).iterator())
                    .collect();
            Part all = new Part();
            for (Part part : parts) {
                check(part.count == 0 || part.first >= all.last, "partitions are sorted");
                all.last = part.count == 0 ? all.last : part.last;
                all.count += part.count;
                all.sum += part.sum;
            }
            check(all.count == records, records + " records, got " + all.count);
            check(all.sum == LongStream.range(0, records).map(Sort::mixed).sum(), "each record once");
            System.out.println("sorted " + all.count + " records of " + BYTES + " bytes by executors "
                    + parts.stream()
                            .map(part -> part.executor)
                            .distinct()
                            .sorted()
                            .toList());
        }
    }

    private static Iterator<Tuple2<Long, byte[]>> made(int partition, int partitions, int records) {
        return IntStream.iterate(partition, number -> number < records, number -> number + partitions)
                .mapToLong(Sort::mixed)
                .mapToObj(key -> new Tuple2<>(key, bytes(key)))
                .iterator();
    }

    private static Part checked(Iterator<Tuple2<Long, byte[]>> sorted) {
        Part part = new Part();
        part.executor = SparkEnv.get().blockManager().blockManagerId().host();
        while (sorted.hasNext()) {
            Tuple2<Long, byte[]> record = sorted.next();
            long key = record._1();
            check(key >= part.last, "records are sorted");
            check(java.util.Arrays.equals(record._2(), bytes(key)), "bytes of the record");
            part.first = part.count++ == 0 ? key : part.first;
            part.last = key;
            part.sum += key;
        }
        return part;
    }

    private static byte[] bytes(long key) {
        java.nio.ByteBuffer bytes = java.nio.ByteBuffer.allocate(BYTES);
        for (long next = key; bytes.hasRemaining(); next = mixed(next)) {
            bytes.putLong(next);
        }
        return bytes.array();
    }

    /** Returns another number for each number, which looks random. */
    private static long mixed(long number) {
        long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L + 0x9e3779b97f4a7c15L;
        return (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException("Not " + what);
        }
    }
}
