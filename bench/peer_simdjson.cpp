/*
 * bench/peer_simdjson.cpp
 *	  The JSON jobs of bench/run in C++ on simdjson's On-Demand interface, which
 *	  is about what can be had without a query language.
 *
 * Speaks as peers.py does: a line {"version"} or {"error"}, then for each
 * request {"job", "path"} a line {"seconds", "cpu", "answer"} or {"error"}.  A
 * job reads the file into memory that is kept from job to job, which is part
 * of its time, and goes through the records one by one.  Keys are looked up in
 * the order they have in the files, which is the fastest.  What is between
 * them is not checked: that is how this interface works.
 *
 * usage: peer_simdjson 1 CPU
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

#include <simdjson.h>

using namespace simdjson;

/* The most that iterate_many() looks at at a time; records are shorter. */
static const size_t BATCH = 1000000;

/* A file in memory, with the padding that simdjson asks for. */
class File
{
public:
	~File()
	{
		free(data);
	}

	void
	read(const std::string &path)
	{
		int			fd = open(path.c_str(), O_RDONLY);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) != 0)
			throw std::runtime_error(path + ": " + strerror(errno));
		if ((size_t) st.st_size + SIMDJSON_PADDING > room)
		{
			free(data);
			room = (size_t) st.st_size + SIMDJSON_PADDING;
			data = (char *) malloc(room);
			if (!data)
				throw std::bad_alloc();
		}
		for (size = 0; size < (size_t) st.st_size;)
		{
			ssize_t		n = ::read(fd, data + size, (size_t) st.st_size - size);

			if (n <= 0)
				throw std::runtime_error(path + ": it cannot be read to its end");
			size += (size_t) n;
		}
		close(fd);
		memset(data + size, 0, SIMDJSON_PADDING);
	}

	char	   *data = nullptr;
	size_t		size = 0;
	size_t		room = 0;
};

static File file;
static ondemand::parser parser;

/* Calls f with the object of each line. */
template <typename F>
static void
each_line(F f)
{
	ondemand::document_stream stream = parser.iterate_many(file.data, file.size, BATCH);

	for (auto record : stream)
		f(ondemand::object(record.get_object()));
	if (stream.truncated_bytes() != 0)
		throw std::runtime_error("the last record is cut off");
}

/* Calls f with each object of the one array that the file is. */
template <typename F>
static void
each_element(F f)
{
	ondemand::document document = parser.iterate(file.data, file.size, file.room);

	for (auto record : document.get_array())
		f(ondemand::object(record.get_object()));
}

static std::string
number(double value)
{
	char		text[40];

	snprintf(text, sizeof(text), "%.17g", value);
	return text;
}

static std::string
events_sum()
{
	double		sum = 0;

	each_line([&](ondemand::object record) { sum += double(record["value"]); });
	return number(sum);
}

static std::string
events_lat()
{
	double		sum = 0;
	uint64_t	n = 0;

	each_line([&](ondemand::object record) {
		if (bool(record["ok"]))
		{
			sum += double(record["geo"]["lat"]);
			n++;
		}
	});
	return number(sum / (double) n);
}

static std::string
array_sum()
{
	double		sum = 0;

	each_element([&](ondemand::object record) { sum += double(record["value"]); });
	return number(sum);
}

static std::string
lines_stars()
{
	int64_t		sum = 0;

	each_line([&](ondemand::object record) { sum += int64_t(record["stars"]); });
	return std::to_string(sum);
}

static std::string
lines_octets()
{
	uint64_t	sum = 0;

	each_line([&](ondemand::object record) {
		sum += std::string_view(record["text"]).size();
	});
	return std::to_string(sum);
}

static const std::map<std::string, std::function<std::string()>> jobs = {
	{"events_sum", events_sum},
	{"events_lat", events_lat},
	{"array_sum", array_sum},
	{"lines_stars", lines_stars},
	{"lines_octets", lines_octets},
};

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static std::string
text_of(ondemand::document &request, const char *key)
{
	std::string_view text = request[key];

	return std::string(text);
}

int
main(int argc, char **argv)
{
	cpu_set_t	cpus;
	std::string line;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 2 ? atoi(argv[2]) : 0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	printf("{\"version\": \"simdjson %s (%s)\"}\n", SIMDJSON_STRINGIFY(SIMDJSON_VERSION),
		   SIMDJSON_STRINGIFY(SIMDJSON_BUILTIN_IMPLEMENTATION));
	fflush(stdout);
	while (std::getline(std::cin, line))
	{
		try
		{
			ondemand::parser reader;
			padded_string text(line);
			ondemand::document request = reader.iterate(text);
			std::string job = text_of(request, "job");
			std::string path = text_of(request, "path");
			double		wall = seconds(CLOCK_MONOTONIC);
			double		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
			std::string answer;

			file.read(path);
			answer = jobs.at(job)();
			cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
			wall = seconds(CLOCK_MONOTONIC) - wall;
			printf("{\"seconds\": %.9f, \"cpu\": %.9f, \"answer\": [%s]}\n", wall, cpu, answer.c_str());
		}
		catch (const std::exception &e)
		{
			printf("{\"error\": \"%s\"}\n", e.what());
		}
		fflush(stdout);
	}
	return 0;
}
