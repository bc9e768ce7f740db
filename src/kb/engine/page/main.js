import "./lib.js";
