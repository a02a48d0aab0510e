/** The part of libav.js we call; the package's own types are where TypeScript does not look for them. */
declare module '@libav.js/variant-obsolete' {
  interface Stream {
    readonly index: number;
    readonly codec_type: number;
    readonly codec_id: number;
    readonly codecpar: number;
    readonly time_base_num: number;
    readonly time_base_den: number;
  }
  export interface Frame {
    /** Planar formats: one array per channel; interleaved formats: one array. */
    readonly data: ArrayLike<number> | readonly ArrayLike<number>[];
    readonly format: number;
    readonly nb_samples: number;
    readonly sample_rate?: number;
    readonly channels?: number;
  }
  export interface Instance {
    readonly AVMEDIA_TYPE_AUDIO: number;
    readonly AVERROR_EOF: number;
    writeFile(name: string, bytes: Uint8Array): Promise<void>;
    unlink(name: string): Promise<void>;
    ff_init_demuxer_file(name: string): Promise<[number, Stream[]]>;
    ff_init_decoder(
      codec: number,
      config: { codecpar: number; time_base: [number, number] },
    ): Promise<[number, number, number, number]>;
    ff_read_frame_multi(
      context: number,
      packet: number,
      options: { limit: number },
    ): Promise<[number, Record<number, unknown[]>]>;
    ff_decode_multi(
      codec: number,
      packet: number,
      frame: number,
      packets: unknown[],
      flush: boolean,
    ): Promise<Frame[]>;
    ff_free_decoder(codec: number, packet: number, frame: number): Promise<void>;
    avformat_close_input_js(context: number): Promise<void>;
    av_log_set_level(level: number): Promise<void>;
  }
  const library: { LibAV(options: { noworker: boolean; nothreads: boolean }): Promise<Instance> };
  // biome-ignore lint/style/noDefaultExport: the package's own
  export default library;
}
