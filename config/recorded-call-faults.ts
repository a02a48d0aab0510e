/** Problems with what is stored of ended calls; part of the table in `errors.ts`. */

export const RECORDED_CALL_FAULTS = {
  call_export_refused: {
    status: 403,
    message:
      'This key may not export calls: use one that was created with may_export_calls, which the operator ' +
      'makes with POST /admin/keys',
    reason: 'call_export_refused',
  },
  call_not_recorded: {
    status: 404,
    message:
      'Neither sound nor flight log of this session is stored: it was not recorded, or its retention has ' +
      'ended (GET /v1/agent/privacy)',
    reason: 'call_not_recorded',
  },
  flight_log_unreadable: {
    status: 409,
    message: 'The flight log of the call is longer than {limit} bytes, damaged or incomplete',
    reason: 'flight_log_unreadable',
  },
  call_file_too_large: {
    status: 409,
    message:
      'The sound of this call has {bytes} bytes uncompressed, and a file takes {limit}: leave a side out ' +
      'with redact: ["caller_audio"] or ["agent_audio"]',
    reason: 'call_file_too_large',
  },
  call_erased: {
    status: 410,
    message: 'The contents of this session were erased, so nothing is left to export',
    reason: 'call_erased',
  },
  call_page_not_built: {
    status: 503,
    message: 'The page of call files is not built: run `npm run prepare` and start Parley again',
  },
  custom_model_not_judged: {
    status: 409,
    message:
      'A judged rehearsal is not available with a custom language model, whose prices are not known: ' +
      'leave `judge` out, or choose a model of GET …/models for the draft',
    reason: 'custom_model_not_judged',
  },
  demo_model_not_judged: {
    status: 409,
    message:
      'local/demo answers by rules and cannot judge: choose a language model of GET …/models for the draft ' +
      'and for the judge',
    reason: 'demo_model_not_judged',
  },
} as const;
