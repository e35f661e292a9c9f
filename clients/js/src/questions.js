// What a site may ask, each computed here: none of it needs anything from a server.

/** A parameter of the page's address; empty if there is none. @param {string} name */
const parameter = (name) => new URLSearchParams(location.search).get(name) ?? "";

/** Whether a host is one of some, or a sub-domain. @param {string} host @param {string[]} hosts */
export const isOwn = (host, hosts) => hosts.some((own) => own && `.${host}`.endsWith(`.${own}`));

/** What a question may use besides the page. @typedef {{ of: string, own: string[], reached: any, told: any }} Given */

/** For each kind of question, its value. @type {Record<string, (given: Given) => unknown>} */
export const questions = {
  referrer: ({ own }) => {
    const host = document.referrer.split("/")[2]?.replace(/:\d+$/, "");
    return host && !isOwn(host, own) ? host : "direct";
  },
  campaign: () => parameter("utm_source") || parameter("ref") || parameter("source") || "none",
  path: () => location.pathname,
  device: () => (matchMedia("(pointer:fine)").matches ? "computer" : Math.min(screen.width, screen.height) < 600 ? "phone" : "tablet"),
  language: () => navigator.language.split("-")[0].toLowerCase(),
  zone: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
  search: ({ of }) => parameter(of) || "none",
  goal: ({ of, reached }) => (reached?.[of] === true ? "yes" : "no"),
  own: ({ of, told }) => told[of],
};
