import { describe, expect, test } from 'bun:test';
import { telemetryHeaders, telemetryUrl } from '../../src/config/open-telemetry.ts';
import { exportsTelemetry, loadConfig, summarize } from '../../src/config.ts';

const BASE = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

const urlsOf = (settings: Record<string, string>) => {
  const config = loadConfig(settings);
  return [telemetryUrl(config, 'TRACES'), telemetryUrl(config, 'METRICS')];
};

describe('the endpoint of OpenTelemetry', () => {
  test('is a base for all signals, or the whole URL of one', () => {
    expect(urlsOf(BASE)).toEqual(['http://127.0.0.1:4318/v1/traces', 'http://127.0.0.1:4318/v1/metrics']);
    expect(urlsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://otlp.example.com/otlp/' })).toEqual([
      'https://otlp.example.com/otlp/v1/traces',
      'https://otlp.example.com/otlp/v1/metrics',
    ]);
    const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://tempo:4318/here' };
    expect(urlsOf(traces)).toEqual(['http://tempo:4318/here', null]);
    expect(urlsOf({ ...BASE, ...traces })).toEqual(['http://tempo:4318/here', 'http://127.0.0.1:4318/v1/metrics']);
  });

  test('is what turns telemetry on, unless a setting turns it off', () => {
    const isOn = (settings: Record<string, string>) => exportsTelemetry(loadConfig(settings));
    expect(isOn({})).toBe(false);
    expect(isOn({ OTEL_SERVICE_NAME: 'paybell', OTEL_TRACES_SAMPLER: 'always_on' })).toBe(false);
    expect(isOn(BASE)).toBe(true);
    expect(isOn({ ...BASE, OTEL_SDK_DISABLED: 'true' })).toBe(false);
    expect(isOn({ ...BASE, OTEL_TRACES_EXPORTER: 'none' })).toBe(true);
    expect(isOn({ ...BASE, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' })).toBe(false);
  });

  test('is shown in the log without what may be secret in it', () => {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: headers } = summarize(
      loadConfig({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:hunter2@otlp.example.com/otlp?token=hunter2',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20hunter2',
      }),
    );
    expect([url, headers]).toEqual(['https://otlp.example.com/otlp', '(set)']);
  });
});

test('headers for a collector are percent-decoded, and those of a signal stand in place of those of all', () => {
  const config = loadConfig({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-scope-orgid = 7,',
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'api-key=k=v',
  });
  expect(telemetryHeaders(config, 'TRACES')).toEqual({ authorization: 'Basic YTpi', 'x-scope-orgid': '7' });
  expect(telemetryHeaders(config, 'METRICS')).toEqual({ 'api-key': 'k=v' });
});
