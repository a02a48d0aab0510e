import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { startMediaThread } from '#media/thread/start-media-thread.ts';
import { LegLog } from '../../fakes/leg-log.ts';
import { itNeeds } from '../../needs.ts';

/**
 * Runs in the page: offers the microphone (Chromium's fake beeping device) and the data channel, and records
 * the agent's level and messages.
 */
const OFFER_FROM_PAGE = `(async () => {
  const peer = new RTCPeerConnection();
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  peer.addTrack(microphone.getAudioTracks()[0], microphone);
  const channel = peer.createDataChannel('events');
  window.state = { peer, channel, messages: [], peak: 0 };
  channel.onmessage = (event) => state.messages.push(event.data);
  peer.ontrack = (event) => {
    const stream = new MediaStream([event.track]);
    const sound = new Audio();
    sound.srcObject = stream;
    sound.muted = true;
    sound.play();
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      state.peak = Math.max(state.peak, ...samples);
    }, 20);
  };
  await peer.setLocalDescription(await peer.createOffer());
  while (peer.iceGatheringState !== 'complete') await new Promise((resolve) => setTimeout(resolve, 10));
  return peer.localDescription.sdp;
})()`;

/** Long enough to be heard: a busy browser takes seconds to start listening. */
const TONE_SECONDS = 20;
const PATIENCE = { timeout: 30_000 };

itNeeds(['chromium'])('a real browser hears, is heard and exchanges messages', async () => {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const host = await startMediaThread({
    rtpPortMin: 22_300,
    rtpPortMax: 22_399,
    iceServers: [],
    clock: systemClock,
    logger,
  });
  // Browsers grant the microphone to secure origins only; loopback is one.
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html>'),
  ).listen(0, '127.0.0.1');
  const browser = await chromium.launch({
    executablePath: join(import.meta.dirname, '../../journeys/chromium.sh'),
    args: [
      '--no-sandbox',
      '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream',
      '--autoplay-policy=no-user-gesture-required',
    ],
  });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const offerSdp = await page.evaluate<string>(OFFER_FROM_PAGE);
    const { leg, answerSdp } = await host.openWebrtcLeg({ offerSdp, recording: null });
    const log = new LegLog(leg);
    await page.evaluate(
      `state.peer.setRemoteDescription({ type: 'answer', sdp: ${JSON.stringify(answerSdp)} })`,
    );
    await log.next('connected');
    const samples = Int16Array.from(
      { length: TONE_SECONDS * leg.outRateHz },
      (_, n) => 12_000 * Math.sin((2 * Math.PI * 440 * n) / leg.outRateHz),
    );
    leg.send({ do: 'play', replyId: 'r', pieceId: 0, samples, marks: Int32Array.of(), last: true });
    leg.send({ do: 'sendMessage', json: '{"type":"state"}' });
    await log.next('audio', (event) => event.samples.some((sample) => Math.abs(sample) > 2000));
    await expect.poll(() => page.evaluate('state.peak'), PATIENCE).toBeGreaterThan(0.2);
    await expect.poll(() => page.evaluate('state.messages'), PATIENCE).toEqual(['{"type":"state"}']);
    await page.evaluate(`state.channel.send('{"type":"hello"}')`);
    expect(await log.next('message')).toMatchObject({ text: '{"type":"hello"}' });
    await page.evaluate('state.peer.close()');
    expect(await log.next('closed')).toMatchObject({ reason: 'remote' });
  } finally {
    await browser.close();
    server.close();
    await host.close();
  }
});
