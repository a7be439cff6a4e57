// The API of hectod (docs/api.md). The token is kept here, in memory, and nowhere else.

let token = "";
export const setToken = (text) => { token = text.trim(); };
export const hasToken = () => token !== "";

// What came of a request; the error has the router's own line.
export class ApiError extends Error {
  constructor(line, status) {
    super(line);
    this.status = status;
  }
}

const kPatience_ms = 5000;
const kWithToken = /^\/v1\/(trace|capture)\b/;  // the rest is for everybody

async function ask(method, path, body, patience = kPatience_ms) {
  const headers = token && kWithToken.test(path) ? {Authorization: `Bearer ${token}`} : {};
  const signal = AbortSignal.timeout(patience);
  let answer;
  try {
    answer = await fetch(
      path, {method, headers, body, signal, cache: "no-store", credentials: "omit"});
  } catch (error) {
    throw new ApiError(error.name === "TimeoutError" ? `nothing for ${patience / 1000} s`
                                                     : "nobody answers", 0);
  }
  if (answer.ok) return answer;
  let line = `${method} ${path} was answered ${answer.status}`;
  try {
    line = (await answer.json()).error ?? line;
  } catch { /* no JSON: the status has to do */ }
  throw new ApiError(line, answer.status);
}

export const get = async (path) => (await ask("GET", path)).json();
export const post = async (path, body) =>
  (await ask("POST", path, body === undefined ? undefined : JSON.stringify(body))).json();
export const remove = async (path) => (await ask("DELETE", path)).json();

// The next piece of a capture; null: it is complete.
export async function piece(path) {
  const answer = await ask("GET", path, undefined, 20000);
  return answer.status === 204 ? null : answer.arrayBuffer();
}
