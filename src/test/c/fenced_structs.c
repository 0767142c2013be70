/*
 * A part of fenced.c: the structs that functions were given last, as bytes, so that tests can compare each field with what
 * a program said; and answers of tests to queries.
 */

enum { BLOCKS = 64, LONGEST_BLOCK = 1024 };

struct block {
	char function[48];
	size_t size; /* 0 for none */
	char bytes[LONGEST_BLOCK];
};

static struct block given[BLOCKS], answers[BLOCKS];

static struct block *block_of(struct block *blocks, const char *function)
{
	int i = 0;
	while (i < BLOCKS && *blocks[i].function && strcmp(blocks[i].function, function))
		i++;
	if (i == BLOCKS)
		abort();
	snprintf(blocks[i].function, sizeof(blocks[i].function), "%s", function);
	return &blocks[i];
}

static void set_block(struct block *blocks, const char *function, const void *bytes, size_t size)
{
	struct block *block = block_of(blocks, function);
	block->size = size < LONGEST_BLOCK ? size : LONGEST_BLOCK;
	memcpy(block->bytes, bytes, block->size);
}

/* Keeps what a function was given. The lock is held. */
static void keep_given(const char *function, const void *bytes, size_t size)
{
	set_block(given, function, bytes, size);
}

/* Copies a test's answer to a query; returns its size, or 0 if there is none. The lock is held. */
static size_t copy_answer(const char *function, void *into, size_t most)
{
	struct block *block = block_of(answers, function);
	memcpy(into, block->bytes, block->size < most ? block->size : most);
	return block->size;
}

/* Copies what a function was given last; returns its size, or 0 if it was not called since fenced_calm(). */
API size_t fenced_given(const char *function, void *into, size_t most)
{
	pthread_mutex_lock(&big);
	struct block *block = block_of(given, function);
	memcpy(into, block->bytes, block->size < most ? block->size : most);
	size_t size = block->size;
	pthread_mutex_unlock(&big);
	return size;
}

/* Sets the answer to a query, until fenced_calm(). */
API void fenced_answer(const char *function, const void *bytes, size_t size)
{
	pthread_mutex_lock(&big);
	set_block(answers, function, bytes, size);
	pthread_mutex_unlock(&big);
}

static void forget_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		given[i].size = answers[i].size = 0;
}
