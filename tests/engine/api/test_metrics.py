"""What is told to the metrics is what the page says."""

from kb.engine.api.metrics import Metrics


def lines(metrics):
    return set(metrics.render().decode().splitlines())


def test_requests_fall_into_buckets_that_add_up():
    metrics = Metrics()
    for seconds in (0.0005, 0.003, 0.003, 99.0):
        metrics.request_took("GET", "/x", 200, seconds)
    labels = 'method="GET",route="/x",status="200"'
    assert {
        f"kb_requests_total{{{labels}}} 4.0",
        f'kb_request_seconds_bucket{{le="0.001",{labels}}} 1.0',
        f'kb_request_seconds_bucket{{le="0.005",{labels}}} 3.0',
        f'kb_request_seconds_bucket{{le="10.0",{labels}}} 3.0',
        f'kb_request_seconds_bucket{{le="+Inf",{labels}}} 4.0',
        f"kb_request_seconds_count{{{labels}}} 4.0",
        f"kb_request_seconds_sum{{{labels}}} 99.0065",
    } <= lines(metrics)


def test_searches_jobs_and_chunks_are_counted():
    metrics = Metrics()
    metrics.search_took(0.02, "hybrid")
    metrics.job_ended("done")
    metrics.job_ended("failed")
    metrics.chunks_embedded(32)
    assert {
        'kb_search_seconds_count{mode="hybrid"} 1.0',
        'kb_jobs_total{status="done"} 1.0',
        'kb_jobs_total{status="failed"} 1.0',
        "kb_chunks_embedded_total 32.0",
    } <= lines(metrics)


def test_gauges_are_read_at_each_scrape():
    metrics = Metrics()
    counts = {"documents": 1}
    metrics.watch_store(
        documents=lambda: counts["documents"], chunks=lambda: 20, queue_length=lambda: 3
    )
    assert {"kb_documents 1.0", "kb_chunks 20.0", "kb_queue_length 3.0"} <= lines(metrics)
    counts["documents"] = 2
    assert "kb_documents 2.0" in lines(metrics)


def test_two_engines_in_one_process_count_apart():
    one, other = Metrics(), Metrics()
    one.job_ended("done")
    assert 'kb_jobs_total{status="done"} 1.0' not in lines(other)
